// The board: a card an event, and above them what is wrong.

const LIMIT = 50;

let events = [];
let total = 0;
let streams = 0;
let old = null;         // why the numbers are old; null: they are not
let fresh = 0;          // when the last answer came
let fails = 0;
let retry = 0;          // when it is asked again
let timer;
let busy = false;
let again = false;
let shut = false;       // not signed in

const cards = new Map();

function content(element, ...nodes) {
  element.textContent = "";
  element.append(...nodes);
}

function make(tag, name, text) {
  const element = document.createElement(tag);
  if (name) element.className = name;
  if (text) element.textContent = text;
  return element;
}

const nameOf = event => event.eventInfo && event.eventInfo.title || event.eventId;

function say(text) {
  $("live").textContent = text;
}

// ---- asking for the numbers

function after(ms) {
  clearTimeout(timer);
  retry = Date.now() + ms;
  timer = setTimeout(poll, ms);
}

async function poll() {
  if (busy) {
    again = true;
    return;
  }
  clearTimeout(timer);
  if (document.hidden || shut) return;
  busy = true;
  again = false;
  const text = $("find").value.trim();
  const url = `${data.api}/status`;
  const answer = await call("GET", `${url}?limit=${LIMIT}` + (text && `&find=${encodeURIComponent(text)}`));
  busy = false;
  if (shut) return;      // what comes after signing out is not kept
  if (answer.status === 401 || answer.status === 403) return signIn(answer.status);
  if (answer.status === 200 && Array.isArray(answer.body.events)) {
    fails = 0;
    fresh = Date.now();
    news(answer.body);
    after(again ? 0 : 1000);
    return;
  }
  fails++;
  old = answer.status === 0 ? L("The site does not answer.", "사이트가 응답하지 않습니다.")
      : answer.ours || answer.status >= 500 ? failure(answer, url).split(/(?<=[.])\s/)[0]
      : failure(answer, url);
  after(Math.min(30, 2 ** fails) * 1000 * (1 + Math.random() * .3));
  show();
}

function news(body) {
  events = body.events;
  total = body.total;
  streams = body.streams;
  const age = body.age;
  old = age === null ? L("This host has not heard from Redis yet.", "이 서버는 아직 Redis의 응답을 받지 못했습니다.")
      : age > 5 ? L(`Redis has not answered for ${seconds(age)}: counters stand still and nobody is let in.`, `${seconds(age)} 동안 Redis가 응답하지 않습니다. 번호가 멈춰 있고 아무도 입장하지 않습니다.`)
      : null;
  remember(events);
  lookBack(events, id => {
    const card = cards.get(id);
    if (card && !shut) drawBackend(card.backend, id);
  });
  if (asking) asking.event = events.find(event => event.eventId === asking.event.eventId) || asking.event;
  show();
  explain();
}

// ---- what is on the screen

function show() {
  const stale = old !== null;
  document.body.classList.toggle("stale", stale);
  document.body.classList.toggle("live", !stale && fresh > 0);
  const entered = !$("signin").hidden;
  $("signin").hidden = true;
  $("board").hidden = false;
  $("out").hidden = !load("secret");
  tick();
  summary();
  board();
  if (entered) $("headline").focus();
}

function tick() {
  if (shut) {
    put($("fresh"), L("Not signed in", "로그인하지 않음"));
  } else if (fails > 0) {
    const left = Math.max(0, Math.ceil((retry - Date.now()) / 1000));
    put($("fresh"), (fresh ? L(`Old: of ${clock(fresh)}`, `${clock(fresh)} 기준`) : L("No numbers", "숫자 없음"))
      + (left ? L(` · next try in ${left} s`, ` · ${left}초 후 다시 시도`) : ""));
  } else if (fresh) {
    put($("fresh"), old === null ? L(`Live · ${clock(fresh)}`, `실시간 · ${clock(fresh)}`) : L("Old numbers", "오래된 숫자"));
  } else {
    put($("fresh"), L("Connecting…", "연결 중…"));
  }
}

let told = new Set();

// Of the events in the answer alone: there may be others, and worse.

function summary() {
  const troubles = old === null ? [] : [{ key: "old", bad: true, text: old + " " + L("The numbers below are old.", "아래 숫자는 최신이 아닙니다.") }];
  for (const event of events) {
    for (const trouble of old === null ? troublesOf(event) : []) troubles.push({ ...trouble, event });
  }
  const some = total > events.length || $("find").value.trim() !== "";
  const bad = troubles.some(trouble => trouble.bad);
  $("summary").className = "panel" + (bad ? " bad" : troubles.length ? " warn" : "");
  put($("headline"), troubles.length === 0 ? (some ? L("Nothing wrong with those shown", "표시된 이벤트는 이상 없음") : L("All is well", "이상 없음"))
    : bad ? L("Something is wrong", "문제가 있습니다")
    : troubles.every(trouble => trouble.key.endsWith(" backend")) ? L("Admission follows a backend", "백엔드에 맞춰 입장을 조절하고 있습니다") : L("Something is paused", "멈춰 둔 것이 있습니다"));
  const sum = pick => events.reduce((all, event) => all + pick(event), 0);
  put($("sums"), [
    total > events.length ? L(`${count(events.length)} of ${count(total)} events`, `이벤트 ${count(total)}개 중 ${count(events.length)}개`)
      : L(total === 1 ? "1 event" : `${count(total)} events`, `이벤트 ${count(total)}개`),
    L(`${count(sum(waits))} in waiting rooms`, `대기실 ${count(sum(waits))}명`),
    L(`${count(sum(event => event.queueSize))} in queues`, `대기열 ${count(sum(event => event.queueSize))}명`),
    L(`${count(sum(event => event.currentUsers))} inside`, `입장 ${count(sum(event => event.currentUsers))}명`),
    streams > 0 && L(`${count(streams)} streams of this host`, `이 서버의 스트림 ${count(streams)}개`)
  ].filter(Boolean).join(" · "));

  const list = $("troubles");
  troubles.forEach((trouble, i) => {
    const item = list.children[i] || list.appendChild(make("li"));
    item.className = trouble.bad ? "bad" : "";
    if (!trouble.event) {
      if (item.textContent !== trouble.text || item.firstElementChild) content(item, trouble.text);
      return;
    }
    const id = "event-" + trouble.event.eventId;
    let link = item.querySelector("a");
    if (!link || link.hash !== "#" + id) {
      link = make("a");
      link.href = "#" + id;
      content(item, link, " ");
      item.append("");
    }
    put(link, nameOf(trouble.event));
    if (item.lastChild.data !== trouble.text) item.lastChild.data = trouble.text;
  });
  while (list.children.length > troubles.length) list.lastChild.remove();

  const fewer = [...told].some(key => !troubles.some(trouble => trouble.key === key));
  const more = troubles.filter(trouble => !told.has(trouble.key));
  if (more.length) {
    say(more.map(trouble => (trouble.event ? nameOf(trouble.event) + ": " : "") + trouble.text).join(" "));
  } else if (fewer && !troubles.length && !some) {
    say(L("All is well again.", "이상 없는 상태로 돌아왔습니다."));
  }
  told = new Set(troubles.map(trouble => trouble.key));
  document.title = (troubles.length ? `(${troubles.length}) ` : "") + L("Admission", "입장 관리");
}

// Cards keep their places, so that nothing moves under a finger; new ones come
// where the answer has them.

function board() {
  const list = $("events");
  const now = new Set(events.map(event => event.eventId));
  for (const [id, card] of cards) {
    if (now.has(id)) continue;
    if (card.root.contains(document.activeElement)) {
      card.root.classList.add("gone");
    } else {
      card.root.remove();
      cards.delete(id);
    }
  }
  let next = null;
  for (const event of [...events].reverse()) {
    let card = cards.get(event.eventId);
    if (!card) {
      card = newCard(event);
      cards.set(event.eventId, card);
      list.insertBefore(card.root, next);
    }
    next = card.root;
    fill(card, event);
  }
  const finding = $("find").value.trim();
  $("search").hidden = total <= 5 && !finding && document.activeElement !== $("find");
  put($("shown"), total > events.length ? L(`${count(events.length)} of ${count(total)}, the busiest`, `${count(total)}개 중 붐비는 순으로 ${count(events.length)}개`)
    : total === 0 ? (finding ? L("No event has that in its name or id.", "해당하는 이벤트가 없습니다.") : L("There is no event yet: list some in admission_events, or wait for the first visitor.", "아직 이벤트가 없습니다. admission_events에 적거나 첫 방문자를 기다리세요.")) : "");
}

function newCard(event) {
  const root = make("section", "event");
  const head = make("header");
  const title = make("h2");
  const sub = make("p", "sub");
  root.id = "event-" + event.eventId;
  root.tabIndex = -1;
  title.id = root.id + "-title";
  root.setAttribute("aria-labelledby", title.id);
  head.append(title, sub);
  const card = { root, title, sub, event, parts: {} };
  const tiers = make("div", "tiers");
  const room = card.room = tier(card, L("Waiting room", "대기실"));
  const queue = card.queue = tier(card, L("Queue", "대기열"));

  stat(room, "waits", "waiting", L("Waiting", "대기"));
  stat(room, "enters", "served", L("Let in per minute", "분당 입장"));
  stat(queue, "waits", "queued", L("Waiting", "대기"));
  stat(queue, "inside", "inside", L("Inside", "입장 중"));
  stat(queue, "enters", "admitted", L("Let in per minute", "분당 입장"));
  for (const name of ["activate", "resume", "advance", "rate", "deactivate"]) button(room, name);
  for (const name of ["threshold", "slots", "sold", "clear"]) button(queue, name);

  const word = card.word = { card, root: make("div", "word"), says: make("div", "says"), switches: make("div", "switches"), buttons: {} };
  word.held = make("p", "held");
  word.root.append(word.says, word.held, word.switches);
  for (const name of ["notice", "hold", "release"]) button(word, name);

  const sale = card.sale = { card, root: make("div", "word"), says: make("p", "sub"), lots: make("p", "sub draw"), switches: make("div", "switches"), buttons: {} };
  sale.root.append(sale.says, sale.lots, sale.switches);
  button(sale, "schedule");

  const backend = card.backend = tier(card, L("Backend", "백엔드"), "div");
  backend.root.classList.add("backend");
  backend.root.setAttribute("role", "group");
  backend.root.setAttribute("aria-label", L("Backend", "백엔드"));
  stat(backend, "waits", "latency", L("Slowest 5% take", "느린 5%의 응답 시간"));
  stat(backend, "enters", "failed", L("Failed", "실패"));
  stat(backend, "inside", "rate", L("Waiting room, a second at most", "대기실 초당 최대"));
  stat(backend, "inside", "threshold", L("Inside at most", "동시 입장 최대"));
  backend.table = pointsOf(backend);

  tiers.append(room.root, queue.root);
  root.append(head, word.root, sale.root, tiers, backend.root);
  return card;
}

function tier(card, name, tag) {
  const root = make(tag || "section", "tier");
  const head = make("div", "name");
  const title = make("h3", "", name);
  const part = { card, root, chip: make("span", "chip"), lead: make("p", "lead"), stats: make("dl", "stats"), facts: make("p", "facts"), switches: make("div", "switches"), values: {}, buttons: {} };
  head.append(title, part.chip);
  root.append(head, part.lead, part.stats, part.facts, part.switches);
  return part;
}

const svg = (tag, name) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (name) element.setAttribute("class", name);
  return element;
};

function stat(part, look, name, label) {
  const root = make("div", "stat");
  const value = make("dd");
  const chart = svg("svg", "chart " + look);
  const base = svg("line", "base");
  const area = svg("path", "area");
  const line = svg("path", "line");
  const span = make("p", "span");
  const top = make("span");
  span.append(make("span", "", L("15 min ago", "15분 전")), top);
  chart.setAttribute("viewBox", `0 0 ${SPAN} 40`);
  chart.setAttribute("preserveAspectRatio", "none");
  chart.setAttribute("role", "img");
  for (const [key, at] of [["x1", 0], ["x2", SPAN], ["y1", 39.5], ["y2", 39.5]]) base.setAttribute(key, at);
  chart.append(base, area, line);
  root.append(make("dt", "", label), value, chart, span);
  part.stats.append(root);
  part.values[name] = { value, chart, area, line, top, label };
}

function button(part, name) {
  const element = make("button", "button" + (switches[name].danger ? " danger" : ""), switches[name].label);
  element.type = "button";
  element.addEventListener("click", () => choose(part.card.event, name));
  part.buttons[name] = element;
  part.switches.append(element);
}

// Where the page was not there, or hidden, for 30 s, the line has a gap.

function draw(stat, points) {
  const now = slot();
  const top = points.reduce((most, point) => Math.max(most, point[1]), 0);
  const pieces = [];
  let last = -Infinity;
  for (const [when, value] of points) {
    if (when - last > 30 / STEP) pieces.push([]);
    last = when;
    pieces[pieces.length - 1].push(`${SPAN - (now - when)},${(38.5 - (top ? value / top * 37 : 0)).toFixed(1)}`);
  }
  stat.line.setAttribute("d", pieces.map(piece => "M" + piece.join("L") + (piece.length > 1 ? "" : "h.01")).join(""));
  stat.area.setAttribute("d", pieces.map(piece => `M${piece[0].split(",")[0]},39.5L${piece.join("L")}L${piece[piece.length - 1].split(",")[0]},39.5z`).join(""));
  put(stat.top, top ? L(`max ${count(Math.round(top))}`, `최대 ${count(Math.round(top))}`) : "");
  stat.chart.dataset.points = points.length;
  stat.chart.setAttribute("aria-label", L(`${stat.label}, the last 15 minutes: at most ${count(Math.round(top))}`, `${stat.label}, 최근 15분: 최대 ${count(Math.round(top))}`));
}

function write(stat, value, small) {
  const text = value === null ? "–" : count(value);
  if (stat.value.textContent === text + (small || "")) return;
  content(stat.value, text, ...(small ? [make("small", "", small)] : []));
}

function chip(part, look, text) {
  part.chip.className = "chip " + look;
  put(part.chip, text);
}

function facts(part, list) {
  const pieces = list.filter(Boolean);
  const key = pieces.join("\n");
  if (part.known === key) return;
  part.known = key;
  content(part.facts, ...pieces.map(text => make("span", "", text)));
}

function shown(part, names) {
  for (const [name, element] of Object.entries(part.buttons)) {
    const hidden = !names.includes(name);
    if (hidden && document.activeElement === element) {
      const other = names.find(one => part.buttons[one]);
      if (other) {
        part.buttons[other].hidden = false;
        part.buttons[other].focus();
      }
    }
    element.hidden = hidden;
  }
}

function fill(card, event) {
  card.event = event;
  card.root.classList.remove("gone");
  put(card.title, nameOf(event));
  const info = event.eventInfo || {};
  const key = `${info.artist || ""}\n${info.title ? event.eventId : ""}`;
  if (card.known !== key) {
    card.known = key;
    content(card.sub, ...[info.artist, info.artist && info.title && " · ", info.title && make("code", "", event.eventId)].filter(Boolean));
    card.sub.hidden = !card.sub.childNodes.length;
  }
  fillWord(card.word, event.notice);
  fillHold(card.word, event);
  fillBackend(card.backend, event);
  fillSale(card.sale, event.schedule);
  fillDraw(card.sale, event.draw);
  fillRoom(card.room, event);
  fillQueue(card.queue, event);
  const id = event.eventId;
  const rows = rowsOf(id);
  const last = String(rows[rows.length - 1]);
  if (card.drawn === last) return;
  card.drawn = last;
  draw(card.room.values.waiting, series(id, ROOM_WAITING));
  draw(card.room.values.served, perMinute(id, SERVED));
  draw(card.queue.values.queued, series(id, QUEUE_WAITING));
  draw(card.queue.values.inside, series(id, INSIDE));
  draw(card.queue.values.admitted, perMinute(id, ADMITTED));
  for (const part of [card.room, card.queue]) {
    part.root.classList.toggle("idle", Object.values(part.values).every(stat => stat.top.hidden));
  }
}

// what pages say, as they say it: plain text, a paragraph a language

function fillWord(part, notice) {
  const key = JSON.stringify(notice);
  if (part.known === key) return;
  part.known = key;
  part.says.hidden = !notice;
  if (!notice) return;
  const line = lang => {
    const element = make("p", "", notice[lang]);
    element.lang = lang;
    element.dir = "auto";
    return notice[lang] && element;
  };
  content(part.says, ...[line("ko"), line("en"), make("p", "sub", L("Shown since ", "공지 시각 ") + day(notice.at * 1000))].filter(Boolean));
}

function fillHold(part, event) {
  put(part.held, event.hold === "inside" ? L("Held: nobody is let in, and those inside are stopped too", "보류 중: 아무도 입장하지 않으며 입장한 사람도 멈춰 있습니다")
    : event.hold ? L("Held: nobody is let in", "보류 중: 아무도 입장하지 않습니다") : "");
  shown(part, ["notice", event.hold ? "release" : "hold"]);
}

// what is in force, where that is not what is set

const inForce = (now, set) => now === undefined || now >= set ? "" : L(`, ${count(now)} in force`, `, 지금 ${count(now)}명`);

const limits = { latency: L("Limited: too slow", "제한: 느림"), errors: L("Limited: failures", "제한: 오류"), paused: L("Stopped", "멈춤") };
const share = hundredths => Math.round(hundredths) / 100;

function fillBackend(part, event) {
  const of = event.backend;
  part.root.hidden = !of;
  if (!of) return;
  const dry = of.follow === "dry";
  if (of.age === null) {
    chip(part, "", L("Not known", "알 수 없음"));
  } else if (of.limitedBy) {
    chip(part, of.limitedBy === "paused" && !dry ? "bad" : "warn", limits[of.limitedBy] + (dry ? L(", not applied", " (적용 안 함)") : ""));
  } else {
    chip(part, "on", L("Nothing limits", "제한 없음"));
  }
  put(part.lead, dry ? L("A dry run: this is what would be, and nothing is applied.", "시험 운영 중입니다. 계산만 하고 적용하지 않습니다.") : "");
  const failed = of.counted > 0 ? share(10000 * of.failed / of.counted) : null;
  write(part.values.latency, of.latency, (of.latency === null ? "" : " ms") + (of.maxLatency === null ? "" : L(` of ${count(of.maxLatency)} ms`, ` / ${count(of.maxLatency)} ms`)));
  write(part.values.failed, failed, (failed === null ? "" : " %") + (of.maxErrors === null ? "" : L(` of ${count(share(of.maxErrors))} %`, ` / ${count(share(of.maxErrors))} %`)));
  write(part.values.rate, of.rate === null ? event.rate : Math.min(event.rate, of.rate / 1000), L(` of ${count(event.rate)}`, ` / ${count(event.rate)}`));
  write(part.values.threshold, of.threshold === null ? event.threshold : Math.min(event.threshold, of.threshold), L(` of ${count(event.threshold)}`, ` / ${count(event.threshold)}`));
  facts(part, [
    L(`${count(of.requests)} requests in 5 seconds`, `5초간 요청 ${count(of.requests)}건`),
    of.pause > 0 && L(`Asks to be left alone for ${seconds(of.pause)}`, `${seconds(of.pause)} 동안 쉬기를 요청`),
    of.age > 10 && L(`As of ${seconds(of.age)} ago`, `${seconds(of.age)} 전 기준`)
  ]);
  part.table.root.hidden = !backends.has(event.eventId);
}

// The charts once more, for who reads; made when it is opened.

function pointsOf(part) {
  const root = make("details", "points");
  const table = make("table");
  root.hidden = true;
  root.append(make("summary", "", L("The last 15 minutes as a table", "최근 15분 표로 보기")), table);
  root.addEventListener("toggle", () => tabulate(part, part.card.event.eventId));
  part.root.append(root);
  return { root, table };
}

function tabulate(part, id) {
  if (!part.table.root.open) return;
  const row = (tag, cells) => {
    const line = make("tr");
    line.append(...cells.map(text => make(tag, "", text)));
    return line;
  };
  const head = row("th", [L("Time", "시각"), L("Slowest 5%", "느린 5%"), L("Failed", "실패"), L("Requests a second", "초당 요청"), L("Rate at most", "초당 최대"), L("Inside at most", "동시 입장 최대"), L("Limited", "제한")]);
  for (const cell of head.children) cell.scope = "col";
  const free = L("as set", "설정값");
  content(part.table.table, head, ...[...(backends.get(id) || [])].reverse().map(point => row("td", [
    clock(point[WHEN] * 1000),
    point[LATENCY] === null ? "–" : `${count(point[LATENCY])} ms`,
    point[FAILED] === null ? "–" : `${count(share(point[FAILED]))} %`,
    count(point[REQUESTS]),
    point[RATE] === null ? free : count(point[RATE] / 1000),
    point[THRESHOLD] === null ? free : count(point[THRESHOLD]),
    limits[point[WHY]] || "–"
  ])));
}

// Where nothing limits, the limit is what is set.

function drawBackend(part, id) {
  const event = part.card.event;
  draw(part.values.latency, seriesBack(id, LATENCY, 1));
  draw(part.values.failed, seriesBack(id, FAILED, .01));
  draw(part.values.rate, seriesBack(id, RATE, .001).map(([when, rate]) => [when, Math.min(rate, event.rate)]));
  draw(part.values.threshold, seriesBack(id, THRESHOLD, 1).map(([when, most]) => [when, Math.min(most, event.threshold)]));
  part.root.classList.toggle("idle", !(backends.get(id) || []).length);
  part.table.root.hidden = false;
  tabulate(part, id);
}

const phases = {
  before: L("Not open yet", "오픈 전"), gathering: L("Gathering: tickets are given, nobody is let in", "대기 접수 중: 번호만 발급하고 입장은 없음"),
  open: L("Open", "판매 중"), closed: L("Closed: nobody joins", "종료: 새 참여 없음")
};

function fillSale(part, schedule) {
  const key = JSON.stringify(schedule);
  if (part.known === key) return;
  part.known = key;
  if (!schedule) return put(part.says, "");
  const times = [["opens", L("opens", "오픈")], ["starts", L("starts", "시작")], ["closes", L("closes", "종료")]]
    .filter(([name]) => schedule[name]).map(([name, word]) => `${word} ${whole(new Date(schedule[name]))}`);
  put(part.says, [phases[schedule.phase] || L("No times", "일정 없음"), ...times,
    schedule.setBy === "api" && L("set by an operator", "운영자가 정함")].filter(Boolean).join(" · "));
}

// Long numbers are whole in the title, and may be copied from there.

function fillDraw(part, drawn) {
  const key = JSON.stringify(drawn);
  if (part.lotsKnown === key) return;
  part.lotsKnown = key;
  part.lots.hidden = !drawn;
  if (!drawn) return;
  const number = (word, value) => {
    const root = make("span", "", value.length > 20 ? `${word} ${value.slice(0, 12)}…` : `${word} ${value}`);
    root.title = value;
    return root;
  };
  const pieces = [
    make("span", "", drawn.seed ? L("Drawn", "추첨 완료") : drawn.lots !== null && drawn.beaconSource ? L("The draw waits for its beacon", "비컨을 기다리는 중")
      : L("To be drawn", "추첨 예정")),
    drawn.lots !== null && make("span", "", L(`${count(drawn.lots)} lots`, `추첨권 ${count(drawn.lots)}장`)),
    drawn.commitment && number(L("commitment", "약속 해시"), drawn.commitment),
    drawn.beaconSource && number(L("beacon of", "비컨 출처"), drawn.beaconSource),
    drawn.beacon && number(L("beacon", "비컨"), drawn.beacon),
    drawn.seed && number(L("seed", "시드"), drawn.seed)
  ].filter(Boolean);
  content(part.lots, ...[].concat(...pieces.map((piece, i) => i ? [" · ", piece] : [piece])));
}

function fillRoom(part, event) {
  const on = event.isActive;
  const seen = rowsOf(event.eventId).some(row => row[ROOM_WAITING] > 0);
  part.root.classList.toggle("off", !on && !seen);
  if (!on) {
    chip(part, "", L("Off", "꺼짐"));
  } else if (event.hold) {
    chip(part, "warn", L("Held", "보류"));
  } else if (event.rate === 0) {
    chip(part, "warn", L("Paused", "멈춤"));
  } else if (event.standby) {
    chip(part, "", L("Standby", "대기"));
  } else {
    chip(part, "on", event.standby === false ? L("Shows", "표시 중") : L("On", "켜짐"));
  }
  put(part.lead, on ? event.standby ? L("Unseen: whoever comes goes straight on, while fewer come than the rate.", "방문자에게 보이지 않습니다. 입장 속도보다 적게 오는 동안 모두 바로 들어갑니다.")
      : event.standby === false ? L("More came than the rate: people see it, until nobody has waited for 10 seconds.", "입장 속도보다 많이 와서 대기실이 보입니다. 10초 동안 아무도 기다리지 않으면 다시 보이지 않습니다.") : ""
    : event.vwr === "off" ? L("The configuration keeps it off (vwr=off).", "설정에서 꺼 두었습니다 (vwr=off).")
    : event.waiting > 0 ? L(`Everybody goes straight on. ${people(event.waiting)} had a number when it was turned off.`, `모두 바로 들어갑니다. 껐을 때 ${people(event.waiting)}이 번호를 갖고 있었습니다.`)
    : L("Everybody goes straight on.", "모두 바로 들어갑니다."));
  write(part.values.waiting, on ? event.waiting : 0);
  write(part.values.served, lately(event.eventId, SERVED));
  facts(part, [
    on && L(`Number ${count(served(event))} of ${count(event.nextPosition)}`, `${count(event.nextPosition)}번 중 ${count(served(event))}번까지`),
    L(`Rate ${count(event.rate)} a second`, `초당 ${count(event.rate)}명`) + (event.rate === event.configuredRate ? "" : L(` (configured: ${count(event.configuredRate)})`, ` (설정값 ${count(event.configuredRate)}명)`)) + inForce(event.effectiveRate, event.rate),
    on && event.comePercent < 100 && L(`${event.comePercent} % of those called come`, `호출된 사람 중 ${event.comePercent}% 입장`),
    on && event.there < event.waiting && L(`${count(event.there)} of those waiting are there`, `대기 중 ${count(event.there)}명 접속`),
    on && event.setBy === "config" && L("On by configuration", "설정으로 켜짐")
  ]);
  shown(part, [
    !on && event.vwr !== "off" && "activate",
    !on && event.vwr !== "off" && event.activation > 0 && "resume",
    on && "advance",
    "rate",
    on && event.vwr !== "on" && event.vwr !== "standby" && "deactivate"
  ].filter(Boolean));
}

function fillQueue(part, event) {
  if (event.restoring > 0) {
    chip(part, "bad", L("Restoring", "복구 중"));
  } else if (event.slots <= event.sold) {
    chip(part, "warn", L("Sold out", "매진"));
  } else if (event.hold) {
    chip(part, "warn", L("Held", "보류"));
  } else if (event.threshold === 0) {
    chip(part, "warn", L("Paused", "멈춤"));
  } else if (event.currentUsers >= event.threshold) {
    chip(part, "on", event.currentUsers > event.threshold ? L("Over the limit", "한도 초과") : L("Full", "만석"));
  } else {
    chip(part, "", event.queueSize ? L("Letting in", "입장 중") : L("Open", "여유"));
  }
  put(part.lead, "");
  write(part.values.queued, event.queueSize);
  write(part.values.inside, event.currentUsers, L(` of ${count(event.threshold)}`, ` / ${count(event.threshold)}`));
  write(part.values.admitted, lately(event.eventId, ADMITTED));
  facts(part, [
    L(`${count(event.available)} free`, `${count(event.available)}자리 남음`),
    L(`Limit ${count(event.threshold)}`, `한도 ${count(event.threshold)}명`) + (event.threshold === event.configuredThreshold ? "" : L(` (configured: ${count(event.configuredThreshold)})`, ` (설정값 ${count(event.configuredThreshold)}명)`)) + inForce(event.effectiveThreshold, event.threshold),
    event.viewAge >= 0 && L(`Polls answered by this host, from the line of ${seconds(event.viewAge)} ago`, `${seconds(event.viewAge)} 전의 줄을 보고 이 서버가 직접 응답`),
    L(`${count(event.admitted)} let in so far`, `지금까지 ${count(event.admitted)}명 입장`),
    event.slots >= 0 && (event.sold === null ? L(`${count(event.slots)} seats`, `좌석 ${count(event.slots)}석`) : L(`${count(event.sold)} of ${count(event.slots)} seats sold`, `좌석 ${count(event.slots)}석 중 ${count(event.sold)}석 판매`))
  ]);
  const lost = event.slots >= 0 && event.sold === null;
  shown(part, ["threshold", lost ? "sold" : "slots", "clear"]);
}

// ---- who is no operator

function signIn(status) {
  const tried = load("secret");
  const first = !shut;
  shut = true;
  if (tried) save("secret");
  if ($("ask").hasAttribute("open")) $("ask").close();
  document.body.classList.remove("live", "stale");
  $("board").hidden = true;
  $("out").hidden = true;
  $("signin").hidden = false;
  put($("signin-title"), L("For operators", "운영자 전용"));
  put($("signin-text"), status === 403 && !tried ? L("You are signed in, but not as an operator: that takes the role “admin”.", "로그인했지만 운영자가 아닙니다. “admin” 역할이 필요합니다.")
    : L("Sign in as a user with the role “admin”, or show the admin secret.", "“admin” 역할의 사용자로 로그인하거나 관리자 비밀 값을 입력하세요."));
  put($("secret-label"), L("Admin secret, or an operator's token", "관리자 비밀 값 또는 운영자 토큰"));
  put($("secret-hint"), L("Kept by this tab alone, until it is closed or you sign out.", "이 탭에만 저장되며, 탭을 닫거나 로그아웃하면 지워집니다."));
  put($("enter"), L("Continue", "계속"));
  put($("signin-error"), !tried ? ""
    : first && fresh ? L("It is no longer valid. Sign in again.", "더 이상 유효하지 않습니다. 다시 로그인하세요.")
    : L("That is not it. Nothing was changed.", "올바르지 않습니다. 변경된 것은 없습니다."));
  fresh = 0;
  if (data.login) {
    const url = new URL(data.login, location.href);
    if (/^https?:$/.test(url.protocol)) {
      url.search += (url.search ? "&" : "?") + "return=" + encodeURIComponent(location.pathname + location.search);
      $("login").href = url.href;
      put($("login"), L("Sign in", "로그인"));
    }
  }
  document.title = L("Admission", "입장 관리");
  tick();
  if (first || tried) $("secret").focus();
}

$("signin-form").addEventListener("submit", event => {
  event.preventDefault();
  const secret = $("secret").value.trim();
  if (!/^[\x21-\x7e]+$/.test(secret)) {
    put($("signin-error"), L("It has no spaces and no letters beyond English.", "공백이나 영문이 아닌 문자는 쓸 수 없습니다."));
    $("secret").focus();
    return;
  }
  $("secret").value = "";
  save("secret", secret);
  shut = false;
  poll();
});

$("out").addEventListener("click", () => {
  shut = true;
  save("secret");
  save("history");
  location.reload();
});

// ---- the start

let typing;

$("find").addEventListener("input", () => {
  clearTimeout(typing);
  typing = setTimeout(() => {
    for (const card of cards.values()) card.root.remove();
    cards.clear();
    poll();
  }, 250);
});

document.addEventListener("visibilitychange", poll);
addEventListener("online", poll);
addEventListener("pageshow", event => {
  if (event.persisted) poll();
});
setInterval(tick, 1000);

document.documentElement.lang = L("en", "ko");
document.title = L("Admission", "입장 관리");
put($("heading"), L("Admission", "입장 관리"));
put($("find-label"), L("Find an event", "이벤트 찾기"));
$("out").textContent = L("Sign out", "로그아웃");
$("find").placeholder = L("Find an event", "이벤트 찾기");
$("plain").hidden = true;
$("page").hidden = false;
tick();
poll();
