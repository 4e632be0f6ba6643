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
