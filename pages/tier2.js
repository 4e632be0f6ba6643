let joined = false;
let rejoins = 0;

function mine() {
  const token = load("place");
  return token ? { "x-queue-place": token } : {};
}

// the threshold is 0, the event is held, or its backend stopped it

const pausedIn = ({ threshold, estimatedWait }) => !(threshold > 0) || estimatedWait === null;

function inside({ currentUsers, threshold }) {
  if (!(threshold > 0)) return count(currentUsers) + L("", "명");
  return L(`${count(currentUsers)} of ${count(threshold)}`, `${count(currentUsers)} / ${count(threshold)}명`);
}

start({
  kind: L("Queue", "대기열"),
  keep: L("Please keep this page open: when it is your turn, you go on automatically. If you reload or lose the connection, your place is kept.",
    "이 페이지를 열어 두세요. 차례가 되면 자동으로 이동합니다. 새로고침하거나 연결이 끊겨도 순번은 유지됩니다."),

  holds: () => load("place"),

  mine,

  stream: () => `/stream/${id}`,

  which: () => "",

  forget() {
    joined = false;
    save("place");
  },

  // who comes without a name gets one, and all tabs the same

  ask: away => joined ? call("GET", `/status/${id}${away ? "?away=1" : ""}`, mine()) : alone(() => call("POST", `/check/${id}`, mine())),

  news(body, away) {
    const info = body.eventInfo;
    if (info && info.title) named(info.title, info.artist);

    if (body.status === "sold_out") {
      joined = body.queued;
      if (body.place) save("place", body.place);
      sold(body.queued ? body.nextPoll : 1.5);
      return true;
    }

    if (body.status === "queued") {
      const known = joined;
      joined = true;
      rejoins = 0;
      if (body.place) save("place", body.place);
      waiting({
        label: L("Your place in line", "내 순번"),
        number: body.position,
        unit: "번째",
        left: body.position,
        wait: waitOf(body, body.seats === 0 ? lastSeats : pausedIn(body) ? paused : body.estimatedWaitRange || body.estimatedWait),
        facts: [
          [L("Ahead of you", "내 앞"), count(body.peopleAhead) + L("", "명")],
          [L("Behind you", "내 뒤"), count(body.peopleBehind) + L("", "명")],
          [L("Inside now", "현재 입장"), inside(body)]
        ]
      });
      leavable();
      (known ? next : spread)(body.nextPoll);
      return true;
    }

    if (body.status === "ready") {
      joined = true;
      ready(body.claimIn, body.nextPoll);
      return true;
    }

    if (body.status === "active") {
      joined = true;
      save("place");
      if (document.hidden) {
        ready(0, body.nextPoll);
      } else {
        turn(L("It is your turn", "입장할 차례입니다"));
      }
      return true;
    }

    if (body.status === "not_in_queue") {
      if (away && called) {

        // somebody who is not there is not to be let in again and again

        joined = false;
        plain(L("Your turn has passed", "입장 차례가 지났습니다"), L("You join the line again as soon as you look at this page.", "이 페이지로 돌아오시면 다시 대기열에 참여합니다."));
      } else if (!leftOrLeaves()) {
        joined = false;
        after(rejoins++ ? 3 * rejoins : 0);
      }
      return true;
    }
    return false;
  },

  refused(status, body) {
    if (body.code === "SOLD_OUT") {
      joined = false;
      sold(1.5);
      return true;
    }
    if (body.code === "POSITION_USED") save("ticket");
    return false;
  }
});
