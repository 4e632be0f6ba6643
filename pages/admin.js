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
