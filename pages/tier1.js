let assigned = 0;

const mine = () => {
  const ticket = load("ticket");
  return ticket && ticket.visitor ? { "x-admission-visitor": ticket.visitor } : {};
};

// Two tabs that start together ask for one ticket: one after the other, or
// under one key.

function key() {
  let known = load("key");
  if (!known || !(Date.now() - known.at < 240000)) {
    const bytes = crypto.getRandomValues(new Uint8Array(16));
    save("key", known = { at: Date.now(), key: Array.from(bytes, b => b.toString(16).padStart(2, "0")).join("") });
  }
  return known.key;
}

async function assign(away) {
  const ticket = load("ticket");
  if (ticket && ticket.id) return check(ticket, away);
  const answer = await call("POST", `/assign/${id}`, Object.assign(mine(), { "Idempotency-Key": key() }));
  if (answer.status === 200 && answer.body.requestId) {
    save("ticket", { id: answer.body.requestId, visitor: answer.body.visitor });
  }
  if (answer.status) save("key");
  return answer;
}

const check = (ticket, away) => call("GET", `/check/${id}/${ticket.id}${away ? "?away=1" : ""}`, mine());

async function alone(away) {
  let held = false;
  try {
    return await navigator.locks.request(`admission:${id}`, () => {
      held = true;
      return assign(away);
    });
  } catch (error) {
    if (held) throw error;
    return assign(away);
  }
}

function drop() {
  save("ticket");
  save("key");
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

// what it takes to work the draw out again is public

const checkable = drawn(lot => {
  const link = $("check");
  link.hidden = !lot;
  if (!lot) return;
  link.textContent = L("Check the draw", "추첨 검증하기");
  link.href = `${data.api}/draw/${id}`;
});

start({
  kind: L("Waiting room", "대기실"),
  keep: L("Please keep this page open: when it is your turn, you go on automatically. If you reload or lose the connection, your place is kept.",
    "이 페이지를 열어 두세요. 차례가 되면 자동으로 이동합니다. 새로고침하거나 연결이 끊겨도 순번은 유지됩니다."),

  holds: () => (load("ticket") || {}).id,

  mine,

  stream: () => `/stream/${id}/${(load("ticket") || {}).id}`,

  ask(away) {
    const ticket = load("ticket");
    if (ticket && ticket.id) return check(ticket, away);

    // until it opens there is nothing to be had but the time

    if (early) return call("GET", `/status/${id}`);
    return navigator.locks ? alone(away) : assign(away);
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
    if (!(body.position > 0)) return false;
    const due = body.position - body.servingCounter;
    if (due <= 0) {
      after(Math.random());
      return true;
    }

    // those who come before: the counter stops at the one it lets in

    const ahead = due - 1;
    waiting({
      label: ahead ? L("People ahead of you", "내 앞에 기다리는 사람") : L("Your number", "내 번호"),
      number: ahead || body.position,
      unit: ahead ? "명" : "번",
      left: due,
      wait: waitOf(body, body.seats === 0 ? lastSeats : body.paused ? L("Entry is paused at the moment", "현재 입장이 잠시 중단되었습니다")
        : ahead ? body.estimatedWait : L("You are next", "다음 차례입니다")),
      facts: [
        [body.lot ? L("Your place by the draw", "추첨 순번") : L("Your number", "내 번호"), count(body.position)],
        [L("Now admitting", "현재 입장 번호"), count(body.servingCounter)],
        [L("Behind you", "내 뒤"), count(Math.max(0, body.totalInQueue - body.position)) + L("", "명")],
        ...(body.lot ? [[myLot, count(body.lot)]] : [])
      ]
    });
    checkable(body.lot);
    next(body.nextPoll);
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
    return body.code === "POSITION_NOT_FOUND" && drop();
  }
});
