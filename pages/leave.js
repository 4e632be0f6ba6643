
// ---- leaving for good: only who says so; who reloads, sleeps or looks at another
// tab, or closes this one, keeps the place

function left() {
  tier.forget();
  save("start");
  end(L("You have left the line", "대기열에서 나왔습니다"), L("You can join again, at the end of the line.", "다시 참여하면 맨 뒤에서 기다리게 됩니다."),
    L("Join again", "다시 참여"), location.href);
}

// What the server knows before this page does: every tab that is told that it is
// not in line while the answer is on its way would join again.

function leftOrLeaves() {
  if (Date.now() - load("left") < 10000) {
    left();
  } else if (Date.now() - load("leaving") < 20000) {
    after(1);
  } else {
    return false;
  }
  return true;
}

// Taken back only at the end of the line, so it is asked for twice.  Nothing is
// asked meanwhile: who is heard of is there.

async function leave() {
  if (!confirm(L("Leave the line? Your place will be given up.", "대기열에서 나가시겠습니까? 현재 순번이 취소됩니다."))) return;
  save("leaving", Date.now());
  over = true;
  hush();
  try {
    const { status, body } = await call("POST", `/leave/${id}${tier.which()}`, tier.mine());
    if (status !== 200 && body.code !== "POSITION_NOT_FOUND") throw 0;
    save("left", Date.now());
    save("leaving");
    left();
  } catch (error) {
    save("leaving");
    over = false;
    after(pace);
    note(L("That did not work. Please try again.", "처리되지 않았습니다. 다시 시도해 주세요."));
  }
}

const leavable = () => text("leave", L("Leave the line", "대기열 나가기"));

// left in another tab

window.addEventListener("storage", event => {
  if (event.key === `admission:${id}:left` && event.newValue && place) left();
});

drawn(() => $("leave").addEventListener("click", leave))();
