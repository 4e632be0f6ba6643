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
  for (const name of ["track", "facts", "leave", "check", "commitment"]) $(name).hidden = true;
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

const paused = L("Entry is paused at the moment", "현재 입장이 잠시 중단되었습니다");

const lastSeats = L("All remaining seats are being booked; some may come back", "남은 좌석은 모두 예매가 진행 중이며, 취소되는 좌석이 나올 수 있습니다");
