let assigned = 0;

const holds = () => (load("ticket") || {}).id;

const mine = () => {
  const ticket = load("ticket");
  return ticket && ticket.visitor ? { "x-admission-visitor": ticket.visitor } : {};
};

// Tabs ask one after the other; where the one before was closed, or sleeps, under
// its key.

function key() {
  let known = load("key");
  if (!known || !(Date.now() - known.at < 240000)) save("key", known = { at: Date.now(), key: tab });
  return known.key;
}

async function assign(away) {
  const ticket = load("ticket");
  if (ticket && ticket.id) return check(ticket, away);
  const answer = await call("POST", `/assign/${id}`, Object.assign(mine(), { "Idempotency-Key": key() }));
  const { requestId, visitor } = answer.body;
  if (answer.status === 200 && requestId) {

    // another tab has got one meanwhile: that is the browser's

    const other = load("ticket");
    if (other && other.id && other.id !== requestId) return check(other, away);
    save("ticket", { id: requestId, visitor });
  }
  if (answer.status) save("key");
  return answer;
}

// Where the turn may come sooner than it is to ask, which is so where many pass a
// second, it asks by then: what comes late is missed in one second, and too much in
// another.  While the counter stands that time is nobody's, and all would ask at it.

let served = -1;

function soonest({ nextPoll, servingCounter, estimatedWaitRange }) {
  const stands = servingCounter === served;
  served = servingCounter;
  return stands || !estimatedWaitRange ? nextPoll : Math.min(nextPoll, Math.max(2, estimatedWaitRange[0]));
}

// With what was told last: nobody is told more the next time.

let checked = "";

function asks(ticket, away) {
  const { of, ahead } = load("told") || {};
  const query = [of === ticket.id && `ahead=${ahead}`, away && "away=1"].filter(Boolean).join("&");
  return `/${id}/${ticket.id}${query && "?"}${query}`;
}

function check(ticket, away) {
  checked = ticket.id;
  return call("GET", "/check" + asks(ticket, away), mine());
}

function drop() {
  if (holds() === checked) tier.forget();
  save("start");
  if (assigned++ < 3) {
    after(assigned - 1);
  } else {
    after(10 * assigned);
  }
  return true;
}

// A lot says nothing of the place: that is drawn at the start.

const myLot = L("Your lot", "내 추첨 번호");

function gathered(body) {
  waiting({
    label: myLot,
    number: body.lot,
    unit: "번",
    left: 1,
    wait: waitOf(body, drawingHead),
    facts: [
      [L("Lots", "추첨 인원"), count(body.totalInQueue) + L("", "명")],
      [L("Your place", "내 순번"), L("drawn at the start", "시작할 때 추첨")]
    ]
  });
  checkable(body.lot);
  next(body.nextPoll);
}

// What it takes to work the draw out again is public.  The commitment is there to
// be noted ahead of it; it is asked for once a ticket.

let noted = "", commitment = "";

const checkable = drawn(lot => {
  const link = $("check");
  link.hidden = !lot;
  text("commitment", lot && noted === holds() ? commitment : "");
  if (!lot) return;
  link.textContent = L("Check the draw", "추첨 검증하기");
  link.href = `${data.api}/draw/${id}`;
  if (noted !== holds()) commits(noted = holds(), link.href);
});

async function commits(ticket, draw) {
  const known = await fetch(draw, { credentials: "omit", redirect: "error" }).then(answer => answer.json()).catch(() => ({}));
  if (ticket !== noted) return;
  commitment = known.commitment ? `${L("Commitment of the draw", "추첨 약속 해시")}: ${known.commitment}${known.beaconSource ? ` (${known.beaconSource})` : ""}` : "";
  if (commitment) text("commitment", $("check").hidden ? "" : commitment);
  else noted = "";
}

start({
  kind: L("Waiting room", "대기실"),
  keep: L("Please keep this page open: when it is your turn, you go on automatically. If you reload or lose the connection, your place is kept.",
    "이 페이지를 열어 두세요. 차례가 되면 자동으로 이동합니다. 새로고침하거나 연결이 끊겨도 순번은 유지됩니다."),

  holds,

  mine,

  stream: () => "/stream" + asks(load("ticket") || {}),

  which: () => `/${holds()}`,

  forget() {
    save("ticket");
    save("key");
    save("told");
  },

  ask(away) {
    const ticket = load("ticket");
    if (ticket && ticket.id) return check(ticket, away);

    // until it opens there is nothing to be had but the time

    if (early) return call("GET", `/status/${id}`);
    return alone(() => assign(away));
  },

  news(body, away) {

    if (early) {
      early = body.phase === "before";
      if (early) {
        opening(body);
      } else {
        after(0);
      }
      return true;
    }

    // another tab's, which got it as another visitor

    if (body.holder === false) return drop();
    if (body.admitted) {
      if (body.token) {
        turn(L("It is your turn", "입장할 차례입니다"));
      } else if (away) {
        ready(0, 5);
      } else {
        drop();
      }
      return true;
    }
    if (body.status === "sold_out") {
      sold(body.nextPoll);
      return true;
    }
    if (body.lot > 0 && !body.position) {
      gathered(body);
      return true;
    }
    if (!(body.position > 0)) {
      if (!(body.ahead >= 0 || body.requestId)) return false;

      // it came with the start, and is a lot or not in a moment

      next(1);
      return true;
    }

    // Who waits is one of them.  A new ticket knows its number alone, and may be
    // of those who are called; of a number that was passed over nobody is ahead,
    // until there is room.

    const known = body.ahead >= 0;
    const left = known ? body.ahead : body.position - body.servingCounter;
    if (known) save("told", { of: holds(), ahead: left });
    if (!known && left <= 0) {
      after(Math.random());
      return true;
    }
    const ahead = Math.max(0, left - 1);
    waiting({
      label: ahead ? L("People ahead of you", "내 앞에 기다리는 사람") : L("Your number", "내 번호"),
      number: ahead || body.position,
      unit: ahead ? "명" : "번",
      left: Math.max(1, left),
      wait: waitOf(body, body.seats === 0 ? lastSeats : body.paused ? paused
        : ahead ? body.estimatedWaitRange || body.estimatedWait : L("You are next", "다음 차례입니다")),
      facts: [
        [body.lot ? L("Your place by the draw", "추첨 순번") : L("Your number", "내 번호"), count(body.position)],
        [L("Now admitting", "현재 입장 번호"), count(body.servingCounter)],
        [L("Behind you", "내 뒤"), count(Math.max(0, body.totalInQueue - body.position)) + L("", "명")],
        ...(body.lot ? [[myLot, count(body.lot) + (body.lots ? ` / ${count(body.lots)}` : "")]] : [])
      ]
    });
    checkable(body.lot);
    leavable();
    (known ? next : spread)(soonest(body));
    return true;
  },

  refused(status, body) {
    if (body.code === "VWR_INACTIVE") {
      turn(L("No need to wait", "기다리지 않아도 됩니다"));
      return true;
    }
    if (body.code === "SOLD_OUT") {
      sold(1.5);
      return true;
    }
    return body.code === "POSITION_NOT_FOUND" && (leftOrLeaves() || drop());
  }
});
