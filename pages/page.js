// What the pages of both tiers do: the timing of polls, what is said when
// they fail, and where the browser goes on to.  What is on the screen is in
// screen.js.  The tier's own script sets "tier" and starts it.

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
// lock back; for one that sleeps with it nobody waits longer than this.  Those who
// have waited so long, at the same time perhaps, are one at a time as well.

const patience = () => 6000 + Math.random() * 2000;

async function alone(ask, late = "") {
  if (!navigator.locks) return inTurn(ask);
  const control = new AbortController();
  const limit = setTimeout(() => control.abort(), patience());
  let held = false;
  try {
    return await navigator.locks.request(`admission:${id}${late}`, { signal: control.signal }, () => {
      held = true;
      return ask();
    });
  } catch (error) {
    if (held) throw error;
    return late ? ask() : alone(ask, ":late");
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
  let end = Date.now() + patience();
  for (let late = false; turnOf() !== tab; ) {
    const waited = Date.now() > end;
    if (waited && late || (waited || !turnOf()) && !turnOf(10)) break;
    if (waited) {
      late = true;
      end += patience();
    }
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

// Those who came together are not to ask, and to go in, together from then on:
// the first time it is at any moment until then.

function spread(seconds) {
  next(seconds);
  after(pace * (.1 + Math.random() * .9));
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
