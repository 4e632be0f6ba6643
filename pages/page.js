// What the pages of both tiers do: the timing of polls, what is said when
// they fail, where the browser goes on to, and what is on the screen.  The
// tier's own script sets "tier" and starts it.

const data = document.body.dataset;
const id = data.event;
const $ = name => document.getElementById(name);

const ko = /^ko\b/i.test((navigator.languages || [])[0] || navigator.language);
const L = (en, korean) => ko ? korean : en;
const count = new Intl.NumberFormat(ko ? "ko" : "en").format;

let tier;
let over = false;
let busy = false;
let armed = false;
let timer;
let asked = 0;
let blocked = 0;
let fresh = 0;
let fails = 0;
let pace = 3;
let place = false;
let called = false;
let headline = "";
let said = "";
let spoken = 0;
let sent = 0;
let early = false;

// ---- what is kept; what storage does not take, by this page alone

const memory = {};

function load(name) {
  if (name in memory) return memory[name];
  try {
    return JSON.parse(localStorage.getItem(`admission:${id}:${name}`));
  } catch (error) {
    return undefined;
  }
}

function save(name, value) {
  try {
    if (value === undefined) {
      localStorage.removeItem(`admission:${id}:${name}`);
    } else {
      localStorage.setItem(`admission:${id}:${name}`, JSON.stringify(value));
    }
    delete memory[name];
  } catch (error) {
    memory[name] = value;
  }
}

// ---- where to go on to

// a path of this site, and not this page again

function safe(path) {
  if (!path || path.length > 2048 || !/^\/(?!\/)[^\\\x00-\x1f\x7f]*$/.test(path)) return "";
  const url = new URL(path, location.origin);
  return url.origin === location.origin && url.pathname !== location.pathname ? path : "";
}

const onward = safe(data.next.split("{event}").join(id)) || "/";

// a page in the place of what was denied has the address of that

const query = new URLSearchParams(location.search);
const wanted = data.return || safe(query.get("admission_return")) || safe(query.get("return"));

// The fragment of what is wanted is known to the browser alone, which takes it
// along over redirects.  Who signs in comes back without it: this tab keeps it
// until then, for an hour.

const fragment = {
  name: `admission:${id}:fragment`,

  keep() {
    try {
      if (wanted && location.hash) sessionStorage.setItem(fragment.name, JSON.stringify([wanted, location.hash, Date.now()]));
    } catch (error) {
      // it is lost
    }
  },

  back() {
    try {
      const [of, hash, at] = JSON.parse(sessionStorage.getItem(fragment.name)) || [];
      if (of !== wanted) return;
      sessionStorage.removeItem(fragment.name);
      if (!location.hash && Date.now() - at < 3600000) history.replaceState(null, "", hash);
    } catch (error) {
      // nothing is kept
    }
  }
};

fragment.back();

const target = wanted ? wanted + (wanted.includes("#") ? "" : location.hash) : onward;

// Of an address that is this one but for its fragment nothing would be loaded.

function apart(url) {
  const [path, hash] = new URL(url, location.href).href.split("#");
  if (hash && path === location.href.split("#")[0]) history.replaceState(null, "", "?&admission_return=" + encodeURIComponent(wanted));
}

function withReturn(to, hash) {
  const url = new URL(to, location.href);
  if (!/^https?:$/.test(url.protocol)) return "/";
  const here = data.return || location.pathname + (wanted && "?return=" + encodeURIComponent(wanted));
  url.search += (url.search ? "&" : "?") + "return=" + encodeURIComponent(here);
  if (hash) url.hash = hash;
  return url.href;
}

// Pages that lead to each other would do so for ever if cookies were refused.

function looping() {
  try {
    const name = `admission:${id}:hops`;
    const recent = (JSON.parse(sessionStorage.getItem(name)) || []).filter(at => Date.now() - at < 30000);
    sessionStorage.setItem(name, JSON.stringify([...recent, Date.now()]));
    return recent.length > 4;
  } catch (error) {
    return !navigator.cookieEnabled;
  }
}

function go(url) {
  arm(false);
  if (looping()) {
    end(L("Please continue by hand", "직접 계속해 주세요"),
      L("You were sent back here several times. Your browser may be blocking this site's cookies; please allow them.",
        "같은 페이지로 여러 번 되돌아왔습니다. 브라우저가 이 사이트의 쿠키를 차단하고 있을 수 있으니 허용해 주세요."),
      L("Continue", "계속"), url);
    return;
  }
  over = true;
  apart(url);
  location.replace(url);
}

// ---- asking

function retryAfter(response, body) {
  const value = response.headers.get("Retry-After");
  if (/^\d+$/.test(value)) return +value;
  const date = Date.parse(value);
  return date ? (date - Date.now()) / 1000 : +body.retryAfter || 0;
}

async function call(method, path, headers) {
  const control = new AbortController();
  const limit = setTimeout(() => control.abort(), 15000);
  try {
    headers = Object.assign({ "Accept-Language": L("en", "ko") }, headers);
    sent = performance.now();
    const response = await fetch(data.api + path, { method, headers, signal: control.signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
    const body = await response.json().catch(() => null) || {};
    return { status: response.status, body, retry: retryAfter(response, body) };
  } finally {
    clearTimeout(limit);
  }
}

// ---- tabs of one browser, one of which asks at a time

// What the first gets the others show as cookies.  A tab that is closed gives the
// lock back; for one that sleeps with it nobody waits longer than this.

const patience = () => 6000 + Math.random() * 2000;

async function alone(ask) {
  if (!navigator.locks) return inTurn(ask);
  const control = new AbortController();
  const limit = setTimeout(() => control.abort(), patience());
  let held = false;
  try {
    return await navigator.locks.request(`admission:${id}`, { signal: control.signal }, () => {
      held = true;
      return ask();
    });
  } catch (error) {
    if (held) throw error;
    return ask();
  } finally {
    clearTimeout(limit);
  }
}

// Without locks, which need https, a cookie is one.  Tabs that see none there at
// once all write their word: the one whose word is there a moment later has it.

const tab = Array.from(crypto.getRandomValues(new Uint8Array(16)), b => b.toString(16).padStart(2, "0")).join("");

function turnOf(life) {
  try {
    if (life >= 0) document.cookie = `admission-tab-${id}=${tab}; path=/; max-age=${life}; samesite=lax`;
    return (`; ${document.cookie}`.split(`; admission-tab-${id}=`)[1] || "").split(";")[0];
  } catch (error) {
    return "";
  }
}

async function inTurn(ask) {
  const end = Date.now() + patience();
  while (turnOf() !== tab && Date.now() < end && (turnOf() || turnOf(10))) {
    await new Promise(done => setTimeout(done, 150 + Math.random() * 100));
  }
  try {
    return await ask();
  } finally {
    if (turnOf() === tab) turnOf(0);
  }
}

function after(seconds) {
  clearTimeout(timer);
  timer = setTimeout(again, seconds * 1000);
}

// never earlier than told, and not all at once

function next(seconds) {
  pace = Math.min(Math.max(+seconds || 3, 1), 120);
  after(pace * (1 + Math.random() * .2));
}

function again() {
  if (streaming()) return after(pace);
  poll();
}

async function poll() {
  if (over || busy) return;
  clearTimeout(timer);
  busy = true;
  asked = Date.now();
  let answer;
  const away = document.hidden;
  try {
    answer = await tier.ask(away);
  } catch (error) {
    answer = { status: 0, body: {} };
  }
  busy = false;
  if (over) return;
  try {
    react(answer, away);
  } catch (error) {
    next(pace);
  }
}

function react(answer, away) {
  const { status, body, retry } = answer;
  if (status === 200 || body.notice || fullHeads[body.code] || saleHeads[body.code] || body.code === "SOLD_OUT") word(body.notice, body.noticeLang, body.noticeAt);
  if (status === 200 && tier.news(body, away)) {
    fails = 0;
    blocked = 0;
    fresh = Date.now();
    marked("stale", false);
    note("");
    listen();
    return;
  }
  if (saleHeads[body.code]) return (body.code === "CLOSED" ? closed : opening)(body);
  if (tier.refused(status, body)) return;
  if (status === 401) return signIn(body.redirectTo);
  if (status === 403 && body.redirectTo) return go(withReturn(body.redirectTo, location.hash));
  if (status === 400 || status === 404) return unknown();
  if (status === 503 && fullHeads[body.code]) return full(fullHeads[body.code], retry);
  fails++;
  let wait = Math.max(pace, Math.min(60, 2 ** fails)) * (1 + Math.random() * .5);
  if (status === 429 || status === 503) {
    if (retry > 0) wait = retry + Math.random() * Math.max(1, retry * .2, status === 429 ? Math.min(30, 2 ** fails) : 0);
    blocked = Date.now() + wait * 1000;
    const outside = status === 429 && !place && !tier.holds();
    if (outside && headline !== outsideHead) plain(outsideHead);
    note(outside ? outsideWords + " " + nextTry(Math.ceil(wait)) : crowded(Math.ceil(wait)));
  } else if (fails > 1 || !place) {
    lost();
  }
  after(wait);
}

// Those whom one address has too many of are told the same time: they come
// again over a longer and longer one.

const outsideHead = L("You are not in line yet", "아직 줄에 서지 않았습니다");
const outsideWords = L("Too many requests are coming from you or your network. You have no place yet; please keep this page open.",
  "사용자 또는 같은 네트워크의 요청이 많아 아직 순번을 받지 못했습니다. 이 페이지를 열어 두세요.");

// ---- a sale with a time

// When it opens, or starts, as a time of a clock that goes on evenly, whatever
// the device's date is: not before the first, nor after the second, by what the
// answers said, in whole seconds rounded up.  Where that clock stood still, or
// the date jumped, the device slept, and is told anew.

let due = null;
let counting = null;
let walls = Date.now();
let beats = performance.now();

const saleHeads = { NOT_OPEN: true, CLOSED: true };

function countdown(seconds, draw) {
  const from = sent + (seconds - 1) * 1000;
  const to = performance.now() + seconds * 1000;
  due = due && from <= due[1] && to >= due[0] ? [Math.max(from, due[0]), Math.min(to, due[1])] : [from, to];
  counting = draw;
  beat();
}

const uncounted = () => due = counting = null;

const timeLeft = () => Math.max(0, Math.ceil(((due[0] + due[1]) / 2 - performance.now()) / 1000));

function beat() {
  const wall = Date.now();
  const now = performance.now();
  const slept = Math.abs(wall - walls - now + beats) > 1500;
  walls = wall;
  beats = now;
  if (!counting || over) return;
  if (due) counting(timeLeft());
  if (slept && !busy) {
    due = null;
    after(Math.random());
  }
}

setInterval(beat, 200);

function inClock(seconds) {
  const days = Math.floor(seconds / 86400);
  const h = Math.floor(seconds / 3600) % 24;
  const m = Math.floor(seconds / 60) % 60;
  const parts = (days || h ? [h, m] : [m]).concat(seconds % 60);
  return (days ? L(`${count(days)} d `, `${count(days)}일 `) : "")
    + parts.map((part, i) => i || days ? String(part).padStart(2, "0") : part).join(":");
}

// those who can't see it are told by the minute, and of the last one twice more

function sayLeft(shown, seconds) {
  if (seconds % 60 === 0 || seconds === 30 || seconds === 10) say(shown, seconds <= 60);
}

const opensHead = L("Opens in", "오픈까지");
const startsHead = L("Entry starts in", "입장 시작까지");
const soon = L("It starts now", "곧 시작합니다");
const drawingHead = L("The lots are being drawn", "추첨이 진행 중입니다");

let head = opensHead;

// nobody has a ticket or a place who is there now

function nothing(body, text, words, pause) {
  fails = blocked = 0;
  place = called = false;
  fresh = Date.now();
  arm(false);
  marked("turn", false);
  if (headline !== text) plain(text, words);
  next(Math.max(body.nextPoll || 0, pause));
}

function opening(body) {
  early = true;
  const seconds = body.startsIn || body.opensIn || 0;
  if (!seconds) uncounted();
  head = seconds && body.startsIn ? startsHead : opensHead;
  nothing(body, seconds ? head : drawingHead, L("You join the line then.", "그때 바로 줄에 섭니다."), 2);
  if (seconds) countdown(seconds, drawOpening);
}

const drawOpening = drawn(seconds => {
  if (headline !== head) return;
  const shown = seconds ? inClock(seconds) : soon;
  text("label", head);
  if ($("number").textContent === shown) return;
  $("number").className = seconds ? "number" + (shown.length > 7 ? " long" : " wide") : "number text";
  $("number").textContent = shown;
  document.title = `${shown} – ${data.title}`;
  sayLeft(`${head} ${shown}`, seconds);
});

// what stands in the place of the wait, of who has a ticket or a place

const starting = seconds => seconds ? `${head} ${inClock(seconds)}` : soon;

const drawStarting = drawn(seconds => {
  const name = $("wait").lastChild;
  if (!place || !name || name.nodeName !== "STRONG") return;
  const shown = starting(seconds);
  if (name.textContent === shown) return;
  name.textContent = shown;
  sayLeft(shown, seconds);
});

function waitOf(body, otherwise) {
  const seconds = body.startsIn || body.opensIn;
  if (!seconds) {
    uncounted();
    return otherwise;
  }
  head = body.startsIn ? startsHead : opensHead;
  countdown(seconds, drawStarting);
  return starting(timeLeft());
}

function closed(body) {
  uncounted();
  nothing(body, L("The sale is closed", "판매가 종료되었습니다"), L("No more people can join the line.", "더 이상 대기열에 참여할 수 없습니다."), 10);
}

// All who wanted to join together were refused together: they come again over
// as long a time as they were told to wait.

const fullHeads = {
  QUEUE_FULL: L("The line is full at the moment", "지금은 대기 인원이 가득 찼습니다"),
  WAIT_TOO_LONG: L("The wait is too long at the moment", "지금은 대기 시간이 너무 깁니다")
};

function full(head, retry) {
  const wait = Math.max(retry, 5) * (1 + Math.random());
  nothing({}, head, "", 0);
  blocked = Date.now() + wait * 1000;
  note(L("You have no place yet. Please keep this page open: it tries again by itself.", "아직 순번을 받지 못했습니다. 이 페이지를 열어 두시면 자동으로 다시 시도합니다.") + " " + nextTry(Math.ceil(wait)));
  after(wait);
}

function crowded(seconds) {
  return (place ? L("The site is very busy. Your place is kept.", "접속이 많아 응답이 늦어지고 있습니다. 순번은 그대로 유지됩니다.")
      : L("The site is very busy. Please keep this page open.", "접속이 많습니다. 이 페이지를 열어 두세요."))
  + " " + nextTry(seconds);
}

function nextTry(seconds) {
  return L(`Next try in ${count(seconds)} second${seconds > 1 ? "s" : ""}.`, `${count(seconds)}초 후 다시 확인합니다.`);
}

const lost = drawn(() => {
  if (!place) {
    note(L("No connection. We keep trying.", "연결되지 않았습니다. 계속 다시 시도하고 있습니다."));
    return;
  }
  marked("stale", true);
  const at = new Intl.DateTimeFormat(ko ? "ko" : "en", { hour: "numeric", minute: "2-digit" }).format(fresh);
  note(L(`Connection lost. Your place is kept, and we keep trying. These numbers are of ${at}.`,
    `연결이 끊겼습니다. 순번은 그대로 유지되며 계속 다시 연결하고 있습니다. 표시된 숫자는 ${at} 기준입니다.`));
});

// after sleep, in a tab that comes to the front, or back from history; who was
// called comes at once

function wake() {
  if (document.hidden || over || Date.now() < blocked || !called && Date.now() - asked < 1000) return;
  if (place && Date.now() - fresh > 3000 * pace + 10000) marked("stale", true);
  poll();
}

document.addEventListener("visibilitychange", wake);
window.addEventListener("online", wake);
window.addEventListener("pageshow", event => {
  if (!event.persisted) return;
  over = busy = false;
  asked = 0;
  wake();
});

// a request that hangs, or timers that did not fire

setInterval(() => {
  if (place && !over && !document.hidden && !blocked && Date.now() - fresh > 3000 * pace + 20000) lost();
}, 5000);

// ---- the screen

// That something can't be shown is no reason not to ask again, or not to go
// on: it ends here, and what is there without the script is shown as well.

function drawn(draw) {
  return (...values) => {
    try {
      draw(...values);
    } catch (error) {
      const plainly = $("plain");
      if (plainly) plainly.hidden = false;
    }
  };
}

function fill(element, ...nodes) {
  element.textContent = "";
  element.append(...nodes);
}

const marked = drawn((name, on) => document.body.classList.toggle(name, on));

function arm(on) {
  if (on === armed) return;
  armed = on;
  (on ? addEventListener : removeEventListener)("beforeunload", leaving);
}

function leaving(event) {
  event.preventDefault();
  event.returnValue = "";
}

const text = drawn((name, value) => {
  const element = $(name);
  if (element.textContent !== value) element.textContent = value;
  element.hidden = !value;
});

const say = drawn((value, now) => {
  if (value === said || !now && Date.now() - spoken < 30000) return;
  said = value;
  spoken = Date.now();
  $("live").textContent = value;
});

const note = drawn(value => {
  if (value && $("note").textContent !== value) say(value, true);
  text("note", value);
});

// What an operator has to say is plain text, and its own paragraph, whatever
// marks of direction it has.

const word = drawn((notice, lang, at) => {
  $("word").hidden = !notice;
  if (!notice) return;
  $("word-text").lang = lang;
  text("word-text", notice);
  text("word-at", new Intl.DateTimeFormat(ko ? "ko" : "en", { month: "short", day: "numeric", hour: "numeric", minute: "2-digit" }).format(at * 1000));
});

const named = drawn((title, artist) => {
  data.title = title || tier.kind;
  text("kind", title ? tier.kind : "");
  text("title", title || tier.kind);
  text("artist", artist || "");
});

function span(m) {
  const h = m < 60 ? 0 : Math.floor(m / 60);
  m -= h * 60;
  return [
    h && L(`${h} hour${h > 1 ? "s" : ""}`, `${h}시간`),
    m && L(`${m} minute${m > 1 ? "s" : ""}`, `${m}분`)
  ].filter(Boolean).join(" ");
}

function words(seconds) {
  if (seconds < 60) return L("less than a minute", "1분 이내");
  let m = Math.ceil(seconds / 60);
  if (m > 10) m = Math.ceil(m / 5) * 5;
  if (m > 90) m = Math.ceil(m / 10) * 10;
  if (m >= 1440) return L("more than a day", "하루 이상");
  return L("about ", "약 ") + span(m);
}

// what is said is never less wide than what was told

function between([low, high]) {
  const step = 60 * (high > 5400 ? 10 : high > 1800 ? 5 : 1);
  const from = Math.floor(low / step) * step / 60;
  const to = Math.ceil(high / step) * step / 60;
  if (to < 2 || from === to || from >= 1440) return words(high);
  if (to >= 1440) return L(`more than ${span(from || 1)}`, `${span(from || 1)} 이상`);
  if (!from) return L(`up to ${span(to)}`, `${span(to)} 이내`);
  return to < 60 ? L(`${from} to ${to} minutes`, `${from}~${to}분`) : L(`${span(from)} to ${span(to)}`, `${span(from)}~${span(to)}`);
}

// The bar is how much of the way since the start is done; it is full at the
// turn and not before.

function waiting(state) {
  const first = !place;
  place = true;
  called = false;
  headline = "";
  arm(true);
  let start = load("start");
  if (!(start >= state.left)) save("start", start = state.left);
  numbers(state, Math.floor((start - state.left) / start * 100), first);
}

const numbers = drawn(({ label, number, unit, wait, facts }, done, first) => {
  marked("turn", false);
  text("label", label);
  number = count(number);
  $("number").className = "number" + (number.length > 7 ? " long" : number.length > 5 ? " wide" : "");
  if (ko) {
    const small = document.createElement("span");
    small.className = "unit";
    small.textContent = unit;
    fill($("number"), number, small);
  } else {
    fill($("number"), number);
  }
  const track = $("track");
  track.hidden = false;
  track.setAttribute("aria-label", L("Progress", "진행 상황"));
  track.setAttribute("aria-valuenow", done);
  track.firstElementChild.style.width = done + "%";
  const known = Array.isArray(wait) || typeof wait === "number";
  const about = known ? L("Estimated wait:", "예상 대기 시간:") : "";
  wait = known ? wait.length ? between(wait) : words(wait) : wait || L("The wait cannot be estimated yet", "대기 시간을 아직 예상할 수 없습니다");
  if ($("wait").textContent !== `${about} ${wait}`) {
    const name = document.createElement("span");
    const value = document.createElement(known ? "b" : "strong");
    name.textContent = about;
    value.textContent = wait;
    fill($("wait"), name, " ", value);
    $("wait").hidden = false;
  }
  const list = $("facts");
  list.hidden = false;
  facts.forEach(([name, value], i) => {
    const item = list.children[i] || list.appendChild(document.createElement("div"));
    if (!item.firstChild) item.append(document.createElement("dt"), document.createElement("dd"));
    if (item.firstChild.textContent !== name) item.firstChild.textContent = name;
    if (item.lastChild.textContent !== value) item.lastChild.textContent = value;
  });
  while (list.children.length > facts.length) list.lastChild.remove();
  text("keep", tier.keep);
  text("go", "");
  document.title = `${number}${L("", unit)} – ${data.title}`;
  say(`${label}: ${number}${L("", unit)}. ${about} ${wait}.`, first);
});

const plain = drawn((head, wait, button, url) => {
  headline = head;
  document.title = `${head} – ${data.title}`;
  marked("stale", false);
  for (const name of ["label", "keep", "note"]) text(name, "");
  for (const name of ["track", "facts", "leave", "check"]) $(name).hidden = true;
  $("number").className = "number text";
  $("number").textContent = head;
  text("wait", wait || "");
  text("go", button || "");
  if (url) $("go").href = url;
  say(`${head}. ${wait || ""}`, true);
});

function end(head, wait, button, url) {
  over = true;
  place = false;
  marked("turn", false);
  arm(false);
  clearTimeout(timer);
  plain(head, wait, button, url);
}

function turn(head) {
  save("start");
  place = false;
  arm(false);
  marked("turn", true);
  plain(head, L("You go on automatically.", "자동으로 이동합니다."), L("Continue", "계속"), target);
  go(target);
}

// The turn has come, and is taken when somebody looks: until then it is asked
// for in a way that does not take it.

function ready(seconds, pause) {
  const head = L("It is your turn", "입장할 차례입니다");
  if (!document.hidden) return after(0);
  marked("turn", true);
  plain(head, L("You go on as soon as you look at this page.", "이 페이지로 돌아오시면 바로 이동합니다.")
    + (seconds > 0 ? " " + L(`Time left: ${words(seconds)}.`, `남은 시간: ${words(seconds)}.`) : ""));
  if (!called) {
    called = true;
    ring();
    notify(head);
  }
  next(pause);
}

const ring = drawn(() => {
  const Sound = window.AudioContext || window.webkitAudioContext;
  if (!Sound) return;
  const sound = new Sound();
  const gain = sound.createGain();
  gain.gain.value = .2;
  gain.connect(sound.destination);
  for (const at of [0, .3, .6]) {
    const tone = sound.createOscillator();
    tone.frequency.value = 880;
    tone.connect(gain);
    tone.start(sound.currentTime + at);
    tone.stop(sound.currentTime + at + .15);
  }
  setTimeout(() => sound.close(), 3000);
});

function notify(head) {
  if (!window.Notification || Notification.permission !== "granted") return;
  try {
    const shown = new Notification(head, { body: data.title, tag: `admission:${id}` });
    shown.onclick = () => {
      window.focus();
      shown.close();
    };
  } catch (error) {
    // some have it for service workers alone
  }
}

// All is sold: who waits keeps the place, and the page goes on if seats come
// back, which nobody promises.

const sold = pause => nothing({ nextPoll: pause }, L("Sold out", "매진되었습니다"),
  L("All seats are sold. Should there be more, this page goes on by itself.", "모든 좌석이 판매되었습니다. 좌석이 다시 나오면 자동으로 진행됩니다."), 0);

const lastSeats = L("All remaining seats are being booked; some may come back", "남은 좌석은 모두 예매가 진행 중이며, 취소되는 좌석이 나올 수 있습니다");

function signIn(to) {
  fragment.keep();
  const url = to ? withReturn(to) : location.href;
  if (to && !looping()) return go(url);
  end(L("Please sign in", "로그인해 주세요"), L("You join the line after you have signed in.", "로그인하면 대기열에 들어갑니다."),
    to ? L("Sign in", "로그인") : L("Try again", "다시 시도"), url);
}

function unknown() {
  end(L("There is no such sale", "진행 중인 판매가 없습니다"),
    L("It may be over, or the address may be wrong.", "종료되었거나 주소가 올바르지 않습니다."),
    L("Go on to the site", "사이트로 이동"), onward);
}

const begin = drawn(() => {
  $("go").addEventListener("click", () => apart($("go").href));
  document.documentElement.lang = L("en", "ko");
  $("main").hidden = false;
  $("plain").hidden = true;
  plain(L("Connecting…", "연결 중…"));
  document.title = data.title;
});

function start(which) {
  tier = which;
  named(data.title, data.artist);
  begin();
  if (!id) return unknown();
  if (document.prerendering) {
    document.addEventListener("prerenderingchange", poll, { once: true });
  } else {
    poll();
  }
}
