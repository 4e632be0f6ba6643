// What the operators' page knows: the calls of the APIs, the numbers of the
// last quarter of an hour, and what is wrong.

const data = document.body.dataset;
const $ = name => document.getElementById(name);

const ko = /^ko\b/i.test((navigator.languages || [])[0] || navigator.language);
const L = (en, korean) => ko ? korean : en;
const count = new Intl.NumberFormat(ko ? "ko" : "en").format;
const clock = new Intl.DateTimeFormat(ko ? "ko" : "en", { hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }).format;
const day = new Intl.DateTimeFormat(ko ? "ko" : "en", { month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", hour12: false }).format;

const whole = new Intl.DateTimeFormat(ko ? "ko" : "en", { year: "numeric", month: "short", day: "numeric", hour: "2-digit", minute: "2-digit", second: "2-digit", hour12: false }).format;

// "1 person", "2 people"; Korean has a counter

const people = n => L(n === 1 ? "1 person" : `${count(n)} people`, `${count(n)}명`);
const seconds = n => L(n === 1 ? "1 second" : `${count(n)} seconds`, `${count(n)}초`);

// ---- what this tab keeps; what storage does not take, as long as the page is there

const memory = {};

function load(name) {
  if (name in memory) return memory[name];
  try {
    return JSON.parse(sessionStorage.getItem("admission:admin:" + name));
  } catch (error) {
    return undefined;
  }
}

function save(name, value) {
  try {
    if (value === undefined) {
      sessionStorage.removeItem("admission:admin:" + name);
    } else {
      sessionStorage.setItem("admission:admin:" + name, JSON.stringify(value));
    }
    delete memory[name];
  } catch (error) {
    memory[name] = value;
  }
}

// ---- asking

async function call(method, url, body) {
  const control = new AbortController();
  const limit = setTimeout(() => control.abort(), 10000);
  const headers = {};
  const secret = load("secret");
  if (secret) headers.Authorization = "Bearer " + secret;
  if (body) headers["Content-Type"] = "application/json";
  try {
    const response = await fetch(url, { method, headers, body: body && JSON.stringify(body), signal: control.signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
    const answer = await response.json().catch(() => null);
    return { status: response.status, body: answer || {}, ours: Boolean(answer) };
  } catch (error) {
    return { status: 0, body: {} };
  } finally {
    clearTimeout(limit);
  }
}

// What went wrong, in words; url: what was called

function failure({ status, body }, url) {
  const again = L("Look at the numbers before you try again: it may have happened all the same.", "처리되었을 수도 있으니, 다시 시도하기 전에 숫자를 확인하세요.");
  if (status === 0) return L("No answer from the site.", "사이트가 응답하지 않습니다.") + " " + again;
  switch (body.code) {
    case "UNAVAILABLE": return L("Redis did not answer in time.", "Redis가 제때 응답하지 않았습니다.") + " " + again;
    case "ALREADY_ACTIVE": return L("The waiting room is active already: somebody else, or another window, was quicker.", "대기실이 이미 켜져 있습니다. 다른 사람이나 다른 창에서 먼저 켰습니다.");
    case "SET_BY_CONFIG": return L("The configuration decides it (vwr= of this event): change it there.", "설정(이 이벤트의 vwr=)으로 정해져 있습니다. 설정에서 바꾸세요.");
    case "ON_HOLD": return L("The event is held: let it go first.", "입장이 보류되어 있습니다. 먼저 보류를 푸세요.");
    case "GATHERING": return L("The sale has opened and not started: move its start instead.", "판매가 열렸지만 아직 시작하지 않았습니다. 대신 시작 시각을 옮기세요.");
    case "DRAWN": return L("The lots are counted: when the sale opened and started is a part of the draw, and stays.", "추첨 인원이 확정되었습니다. 오픈과 시작 시각은 추첨의 일부이므로 바꿀 수 없습니다.");
    case "UNKNOWN_EVENT": return L("There is no such event any more.", "더 이상 없는 이벤트입니다.");
    case "ADMIN_REQUIRED": return L("You are no longer signed in. Nothing was changed.", "로그인이 끝났습니다. 변경되지 않았습니다.");
    case "FORBIDDEN": return L("You may not do that. Nothing was changed.", "권한이 없습니다. 변경되지 않았습니다.");
    case "CROSS_SITE": return L("The site took it for a call from another site. Is it reached under another name or port than it thinks?", "다른 사이트의 요청으로 판단되었습니다. 사이트의 주소나 포트가 다르게 전달되고 있는지 확인하세요.");
    case "RATE_LIMITED": return L(`Too many calls. Try again in ${seconds(body.retryAfter || 1)}.`, `요청이 너무 많습니다. ${seconds(body.retryAfter || 1)} 후 다시 시도하세요.`);
  }
  if (status === 404 || status === 405) return L(`There is no such call at ${url}. Check "api=" and "queue=" of admission_page.`, `${url} 호출을 찾을 수 없습니다. admission_page의 "api="와 "queue="를 확인하세요.`);
  return L(`The site answered ${status}`, `사이트가 ${status} 오류로 응답했습니다`) + (body.error ? `: ${body.error}` : "") + (status >= 500 ? `. ${again}` : ".");
}

// ---- history: a row every STEP seconds, for SPAN rows

const STEP = 5, SPAN = 180, KEPT = 40;

// the columns of a row; the first is when

const WHEN = 0, ROOM_WAITING = 1, SERVED = 2, QUEUE_WAITING = 3, INSIDE = 4, ADMITTED = 5;

let past;
try {
  past = new Map(load("history"));
} catch (error) {
  past = new Map();
}

const rowsOf = id => Array.isArray(past.get(id)) ? past.get(id) : [];

// the counter may be ahead of the numbers given out

const served = event => Math.min(event.servingCounter, event.nextPosition);

const slot = () => Math.floor(Date.now() / 1000 / STEP);

// Those that the answer leaves out, while one is looked for, stay as they are;
// returns whether a new row was begun.

function remember(events) {
  const now = slot();
  const known = new Map();
  let begun = false;
  for (const event of events.slice(0, KEPT)) {
    const id = event.eventId;
    const had = rowsOf(id);
    const rows = had.filter(row => Array.isArray(row) && row[WHEN] > now - SPAN && row[WHEN] < now);
    begun = begun || !rows.length || had[had.length - 1][WHEN] !== now;
    rows.push([now, event.isActive ? event.waiting : 0, served(event), event.queueSize, event.currentUsers, event.admitted]);
    known.set(id, rows);
  }
  for (const [id, rows] of past) {
    if (known.size >= KEPT) break;
    if (!known.has(id) && Array.isArray(rows) && rows.some(row => Array.isArray(row) && row[WHEN] > now - SPAN)) known.set(id, rows);
  }
  past = known;
  if (begun) save("history", [...past]);
  return begun;
}

// The row under way has only begun.

const done = id => rowsOf(id).slice(0, -1);

// [when, value] of a column; of one that counts up, how much a minute

const series = (id, column) => rowsOf(id).map(row => [row[WHEN], row[column]]);

function perMinute(id, column) {
  const rows = done(id);
  return rows.slice(1).map((row, i) => {
    const since = rows[i];
    const passed = (row[WHEN] - since[WHEN]) * STEP;
    return [row[WHEN], passed > 30 ? null : Math.max(0, row[column] - since[column]) * 60 / passed];
  }).filter(point => point[1] !== null);
}

// of the last minute, or what there is of it; null: not known yet

function lately(id, column) {
  const rows = done(id).filter(row => row[WHEN] >= slot() - 1 - 60 / STEP);
  if (rows.length < 2) return null;
  const first = rows[0], last = rows[rows.length - 1];
  return Math.round(Math.max(0, last[column] - first[column]) * 60 / ((last[WHEN] - first[WHEN]) * STEP));
}

// ---- how its backend was: what the site keeps of the last 15 minutes, by event

const KEEP = 20;        // of so many events it is asked for
const AGAIN = 10000;    // ms

const backends = new Map();
let asked = 0;

async function lookBack(events, then) {
  if (Date.now() - asked < AGAIN) return;
  asked = Date.now();
  for (const event of events.filter(one => one.backend).slice(0, KEEP)) {
    const id = event.eventId;
    const answer = await call("GET", `${data.api}/backend/${encodeURIComponent(id)}`);
    if (answer.status !== 200 || !Array.isArray(answer.body.points)) continue;
    backends.set(id, answer.body.points);
    then(id);
  }
}

// columns of a point

const LATENCY = 1, FAILED = 2, REQUESTS = 3, RATE = 4, THRESHOLD = 5, WHY = 6;

// as series(): of a clock that is ahead of this device's the newest is now

function seriesBack(id, column, times) {
  const points = backends.get(id) || [];
  if (!points.length) return [];
  const late = Math.max(0, Math.floor(points[points.length - 1][WHEN] / STEP) - slot());
  return points.filter(point => point[column] !== null)
    .map(point => [Math.floor(point[WHEN] / STEP) - late, point[column] * times]);
}

// ---- what stands still

const moved = new Map();

function still(key, value) {
  const last = moved.get(key);
  if (!last || last.value !== value) {
    moved.set(key, { value, at: Date.now() });
    return 0;
  }
  return (Date.now() - last.at) / 1000;
}

// ---- what is wrong with an event: { key, bad, text }

function troublesOf(event) {
  const found = [];
  const add = (kind, bad, text) => found.push({ key: `${event.eventId} ${kind}`, bad, text });
  const wait = event.isActive ? event.waiting : 0;

  if (event.restoring > 0) {
    add("restoring", true, L(`Redis lost data. Places are being restored, and nobody is let in, for ${seconds(event.restoring)} more.`, `Redis 데이터가 유실되었습니다. ${seconds(event.restoring)} 동안 순번을 복구하며, 그동안 아무도 입장하지 않습니다.`));
  }
  if (event.isActive && event.vwr === "off") {
    add("ignored", false, L("The waiting room is active elsewhere, but this host's configuration says vwr=off: its gate lets everybody pass.", "대기실이 켜져 있지만 이 서버의 설정은 vwr=off입니다. 이 서버는 모두 통과시킵니다."));
  }
  const backend = event.backend;
  if (event.hold) {
    add("hold", false, event.hold === "inside" ? L("It is held: nobody is let in, and those inside are stopped too.", "보류 중입니다. 아무도 입장하지 않으며 입장한 사람도 멈춰 있습니다.")
      : L("It is held: nobody is let in.", "보류 중입니다. 아무도 입장하지 않습니다."));
  } else if (event.limitedBy === "paused") {
    add("backend", true, backend && backend.pause > 0 ? L(`Its backend asks to be left alone for ${seconds(backend.pause)}: nobody is let in.`, `백엔드가 ${seconds(backend.pause)} 동안 쉬기를 요청해 아무도 입장하지 않습니다.`)
      : L("Its backend fails: nobody is let in, but a few on trial.", "백엔드가 응답하지 못해 시험 입장 외에는 아무도 입장하지 않습니다."));
  } else if (event.limitedBy) {
    add("backend", false, event.limitedBy === "errors" ? L("Fewer are let in than is set: its backend fails too often.", "백엔드 오류가 많아 설정보다 적게 입장합니다.")
      : L("Fewer are let in than is set: its backend is too slow.", "백엔드가 느려 설정보다 적게 입장합니다."));
  }
  const stopped = Boolean(event.hold) || event.limitedBy === "paused";
  const early = stopped || event.schedule && /before|gathering/.test(event.schedule.phase);
  const counter = still(`${event.eventId} serving`, wait > 0 && !early ? event.servingCounter : NaN);
  if (wait > 0 && event.rate === 0) {
    add("rate", false, L(`The waiting room is paused: ${people(wait)} waiting, and the rate is 0.`, `대기실이 멈춰 있습니다. ${people(wait)}이 기다리고 있고 입장 속도는 0입니다.`));
  } else if (wait > 0 && !early && counter >= 10) {
    add("counter", true, L(`The waiting room stands still: ${people(wait)} waiting, and the counter has not moved for ${seconds(Math.floor(counter))}.`, `대기실이 멈췄습니다. ${people(wait)}이 기다리지만 ${seconds(Math.floor(counter))} 동안 입장 번호가 그대로입니다.`));
  }
  const seats = event.slots >= 0 ? event.slots - event.sold - event.currentUsers : Infinity;
  const free = Math.min(event.threshold - event.currentUsers, seats);
  const stuck = event.queueSize > 0 && !early && free > 0 && !(event.restoring > 0);
  const entry = still(`${event.eventId} admitted`, stuck ? event.admitted : NaN);
  if (event.slots >= 0 && event.sold === null) {
    add("unsold", true, L("Redis lost how many seats are sold, and nobody knows: nobody is let in until you say.", "Redis에서 판매된 좌석 수가 유실되었습니다. 판매된 좌석 수를 입력할 때까지 아무도 입장하지 않습니다."));
  }
  const drawn = event.draw;
  if (drawn && !drawn.seed && event.isActive && event.schedule && event.schedule.phase === "open" && still(`${event.eventId} draw`, String(drawn.lots)) >= 5) {
    add("draw", true, drawn.beaconSource && drawn.lots !== null
      ? L(`The draw waits for its beacon (${drawn.beaconSource}): nobody is let in before it is told.`, `추첨이 비컨(${drawn.beaconSource})을 기다립니다. 비컨을 입력할 때까지 아무도 입장하지 않습니다.`)
      : L("The lots are not drawn though the sale has started: nobody is let in. The error log says why.", "판매가 시작되었지만 추첨이 되지 않았습니다. 아무도 입장하지 않습니다. 오류 로그를 확인하세요."));
  }
  if (event.queueSize > 0 && event.threshold === 0) {
    add("threshold", false, L(`The queue is paused: ${people(event.queueSize)} waiting, and the limit is 0.`, `대기열이 멈춰 있습니다. ${people(event.queueSize)}이 기다리고 있고 동시 입장 한도는 0입니다.`));
  } else if (stuck && entry >= 30) {
    add("stuck", true, L(`The queue stands still: ${people(event.queueSize)} waiting and room for ${count(free)}, but nobody has been let in for ${seconds(Math.floor(entry))}.`, `대기열이 멈췄습니다. ${people(event.queueSize)}이 기다리고 ${count(free)}자리가 비어 있지만 ${seconds(Math.floor(entry))} 동안 아무도 입장하지 않았습니다.`));
  }
  return found;
}
