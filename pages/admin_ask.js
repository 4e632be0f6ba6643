// The switches, each with a dialog that says in words and numbers what it
// will do, while the numbers go on.

const path = (base, what, event) => `${base}/${what}/${encodeURIComponent(event.eventId)}`;
const waits = event => event.isActive ? event.waiting : 0;

const keepsWaiting = event => event.rate > 0
  ? L(`${count(event.rate)} a second are let in.`, `초당 ${count(event.rate)}명씩 입장합니다.`)
  : L("The rate is 0: nobody is let in until you raise it.", "입장 속도가 0이므로, 올리기 전까지 아무도 입장하지 않습니다.");

function inWords(seconds) {
  if (seconds < 90) return L(`about ${count(Math.max(1, Math.ceil(seconds)))} s`, `약 ${count(Math.max(1, Math.ceil(seconds)))}초`);
  const minutes = Math.ceil(seconds / 60);
  if (minutes < 90) return L(`about ${minutes} minutes`, `약 ${minutes}분`);
  return L(`about ${count(Math.round(minutes / 60))} hours`, `약 ${count(Math.round(minutes / 60))}시간`);
}

// Of each: label of the button, title and verb of the dialog, words(event,
// value), where it goes to, and what is said when it is done.  field: a number
// is asked for, from min to max; configured: which may be the configuration's.

const switches = {
  activate: {
    label: L("Activate…", "켜기…"), title: L("Activate the waiting room?", "대기실을 켤까요?"), verb: L("Activate", "켜기"),
    done: L("The waiting room is active.", "대기실을 켰습니다."),
    words: event => [
      L("Everybody without a turn goes to the waiting room and gets a number; so do people who are on the site now, with the next page they open. Who holds an entry token of the queue goes on.", "차례가 되지 않은 모든 방문자가 대기실에서 번호를 받습니다. 지금 사이트에 있는 사람도 다음 페이지부터 기다립니다. 대기열의 입장 토큰이 있는 사람은 계속 이용합니다."),
      keepsWaiting(event),
      event.activation > 0 && L(`It begins at number 1 again: the ${count(event.nextPosition)} numbers given out before count no more. To go on with them, choose Resume.`, `번호는 1번부터 다시 시작합니다. 이전에 발급한 번호 ${count(event.nextPosition)}개는 무효가 됩니다. 이어서 하려면 다시 이어가기를 선택하세요.`)
    ],
    ask: event => ["POST", path(data.api, "activate", event)]
  },

  resume: {
    label: L("Resume…", "다시 이어가기…"), title: L("Resume the waiting room?", "대기실을 이어서 켤까요?"), verb: L("Resume", "이어가기"),
    done: L("The waiting room goes on.", "대기실을 이어서 켰습니다."),
    words: event => [
      L(`It goes on where it stopped: of ${count(event.nextPosition)} numbers given out ${count(served(event))} have been let in, and ${people(event.waiting)} ${event.waiting === 1 ? "waits" : "wait"} again.`, `멈춘 곳에서 이어갑니다. 발급한 번호 ${count(event.nextPosition)}개 중 ${count(served(event))}번까지 입장했고, ${people(event.waiting)}이 다시 기다립니다.`),
      L("Everybody else without a turn gets the next numbers.", "그 밖의 방문자는 다음 번호를 받습니다."),
      keepsWaiting(event)
    ],
    ask: event => ["POST", path(data.api, "activate", event) + "?resume=1"]
  },

  deactivate: {
    label: L("Deactivate…", "끄기…"), title: L("Deactivate the waiting room?", "대기실을 끌까요?"), verb: L("Deactivate", "끄기"), danger: true,
    done: L("The waiting room is off.", "대기실을 껐습니다."),
    words: event => [
      waits(event) ? L(`All who wait go straight on to the site at once: ${people(waits(event))}.`, `기다리는 ${people(waits(event))}이 한꺼번에 사이트로 들어갑니다.`)
                   : L("Nobody waits. Everybody who comes goes straight on to the site.", "기다리는 사람이 없습니다. 앞으로 오는 사람은 바로 사이트로 들어갑니다."),
      L(`The queue goes on: at most ${people(event.threshold)} inside at once.`, `대기열은 그대로입니다. 동시에 최대 ${people(event.threshold)}까지 입장합니다.`),
      L("The numbers are kept: Resume goes on with them.", "번호는 보관되므로 다시 이어가기로 계속할 수 있습니다.")
    ],
    ask: event => ["POST", path(data.api, "deactivate", event)]
  },

  advance: {
    label: L("Let in more…", "더 입장시키기…"), title: L("Let more people in now?", "지금 더 입장시킬까요?"), verb: L("Let in", "입장시키기"),
    done: L("They are let in.", "입장시켰습니다."),
    field: { label: L("How many people", "인원"), min: 1, max: 1000000000, value: () => 500 },
    words: (event, n) => {
      const some = Math.min(n, waits(event));
      return [some ? L(`${people(some)} of the ${count(waits(event))} who wait ${some === 1 ? "is" : "are"} let in at once, besides the rate: the counter goes from ${count(event.servingCounter)} to ${count(event.servingCounter + some)}.`, `기다리는 ${people(waits(event))} 중 ${people(some)}을 입장 속도와 별도로 즉시 입장시킵니다. 입장 번호가 ${count(event.servingCounter)}번에서 ${count(event.servingCounter + some)}번이 됩니다.`)
                   : L("Nobody waits: nothing will change.", "기다리는 사람이 없어 아무것도 바뀌지 않습니다.")];
    },
    ask: (event, n) => ["POST", path(data.api, "advance", event), { batchSize: n }]
  },

  rate: {
    label: L("Rate…", "입장 속도…"), title: L("Change the rate?", "입장 속도를 바꿀까요?"), verb: L("Set the rate", "속도 바꾸기"),
    done: L("The rate is set.", "입장 속도를 바꿨습니다."),
    field: { label: L("People a second", "초당 인원"), min: 0, max: 1000000, value: event => event.rate, configured: event => event.configuredRate },
    words: (event, n) => [
      L(`The waiting room lets ${people(n)} a second in; now it is ${count(event.rate)}.`, `대기실이 초당 ${people(n)}씩 입장시킵니다. 지금은 ${count(event.rate)}명입니다.`),
      n === 0 ? L(`Nobody is let in until the rate is raised. Waiting now: ${people(waits(event))}.`, `속도를 올리기 전까지 아무도 입장하지 않습니다. ${people(waits(event))}이 기다립니다.`)
              : waits(event) > 0 && L(`The ${count(waits(event))} who wait are in after ${inWords(waits(event) / n)}.`, `기다리는 ${people(waits(event))}이 ${inWords(waits(event) / n)} 후면 모두 입장합니다.`),
      !event.isActive && L("The waiting room is off: it counts once it is active.", "대기실이 꺼져 있으므로 켠 뒤에 적용됩니다.")
    ],
    ask: (event, n, configured) => configured ? ["DELETE", path(data.api, "rate", event)] : ["PUT", path(data.api, "rate", event) + `?rate=${n}`]
  },

  threshold: {
    label: L("Limit…", "동시 입장 한도…"), title: L("Change how many may be inside?", "동시 입장 한도를 바꿀까요?"), verb: L("Set the limit", "한도 바꾸기"),
    done: L("The limit is set.", "동시 입장 한도를 바꿨습니다."),
    field: { label: L("People inside at once", "동시 입장 인원"), min: 0, max: 10000000, value: event => event.threshold, configured: event => event.configuredThreshold },
    words: (event, n) => {
      const over = event.currentUsers - n;
      const more = Math.min(-over, event.queueSize);
      return [
        L(`At most ${people(n)} may be inside at once; now it is ${count(event.threshold)}, and ${count(event.currentUsers)} ${event.currentUsers === 1 ? "is" : "are"} inside.`, `동시에 최대 ${people(n)}까지 입장합니다. 지금 한도는 ${count(event.threshold)}명이고 ${people(event.currentUsers)}이 들어와 있습니다.`),
        n === 0 && L(`That pauses the queue: nobody is let in, and all who wait keep their places, ${people(event.queueSize)}.`, `대기열이 멈춥니다. 기다리는 ${people(event.queueSize)}은 순번을 유지하지만 아무도 입장하지 않습니다.`),
        over > 0 && L(`Nobody is put out: that is ${count(over)} over the limit, and nobody is let in until so many have left.`, `내보내지는 않습니다. 한도를 넘은 ${people(over)}이 나갈 때까지 아무도 입장하지 않습니다.`),
        more > 0 && L(`${people(more)} of the ${count(event.queueSize)} who wait ${more === 1 ? "is" : "are"} let in soon, in their order.`, `기다리는 ${people(event.queueSize)} 중 ${people(more)}이 순서대로 곧 입장합니다.`)
      ];
    },
    ask: (event, n, configured) => configured ? ["DELETE", path(data.queue, "threshold", event)] : ["PUT", path(data.queue, "threshold", event) + `?threshold=${n}`]
  },

  notice: {
    label: L("Notice…", "공지…"), title: L("Say something to those who wait?", "기다리는 사람에게 공지할까요?"), verb: L("Show it", "공지하기"),
    done: L("The notice is changed.", "공지를 바꿨습니다."),
    texts: event => event.notice || {},
    words: (event, n, texts) => [
      texts.ko || texts.en ? L("All pages of this event show it within seconds, with the time: to those who wait, and to those who come.", "이 이벤트의 모든 페이지에 시각과 함께 곧 표시됩니다. 기다리는 사람과 새로 오는 사람 모두에게 보입니다.")
        : event.notice ? L("Without a text the notice ends.", "내용을 비우면 공지가 사라집니다.")
        : L("There is no text yet.", "아직 내용이 없습니다."),
      (texts.ko || texts.en) && !(texts.ko && texts.en) && L("It is in one language: the others see it as it is.", "한 언어로만 작성하면 다른 언어 사용자에게도 그대로 보입니다.")
    ],
    ask: (event, n, configured, texts) => texts.ko || texts.en ? ["PUT", path(data.api, "notice", event), texts] : ["DELETE", path(data.api, "notice", event)]
  },

  schedule: {
    label: L("Times…", "일정…"), title: L("Change the times of the sale?", "판매 일정을 바꿀까요?"), verb: L("Set the times", "일정 바꾸기"),
    done: L("The times are set.", "일정을 바꿨습니다."),
    times: event => event.schedule || {},
    words: (event, n, texts, times) => {
      if (!times) {
        return [event.schedule && event.schedule.setBy === "api" ? L("The times of the configuration count again, if it has any.", "설정에 적힌 일정이 있으면 그 일정을 따릅니다.")
          : L("They are those of the configuration already.", "이미 설정의 일정을 따르고 있습니다.")];
      }
      const at = name => whole(new Date(times[name]));
      return [
        L(`By this device's time zone: ${zone}.`, `이 기기의 시간대 기준입니다: ${zone}.`),
        times.opens ? L(`Nobody gets a ticket or passes before it opens, ${at("opens")}: tokens do not count until then.`, `${at("opens")}에 열리기 전에는 아무도 번호를 받거나 들어가지 못하며, 토큰이 있어도 마찬가지입니다.`) : L("It is open from now on.", "지금부터 열려 있습니다."),
        times.starts && L(`Nobody is let in before it starts, ${at("starts")}.`, `${at("starts")}에 시작하기 전에는 아무도 입장하지 않습니다.`),
        times.closes && L(`Nobody joins from ${at("closes")} on; who waits or is in goes on.`, `${at("closes")}부터 새로 참여할 수 없으며, 기다리거나 들어온 사람은 계속합니다.`),
        L("All pages show it within seconds.", "모든 페이지에 곧 표시됩니다.")
      ];
    },
    ask: (event, n, configured, texts, times) => times ? ["PUT", path(data.api, "schedule", event), times] : ["DELETE", path(data.api, "schedule", event)]
  },

  slots: {
    label: L("Seats…", "좌석 수…"), title: L("Change how many seats there are?", "좌석 수를 바꿀까요?"), verb: L("Set the seats", "좌석 수 바꾸기"),
    done: L("The seats are set.", "좌석 수를 바꿨습니다."),
    field: { label: L("Seats in all", "전체 좌석 수"), min: 0, max: 10000000, value: event => event.slots || 0, configured: event => event.configuredSlots },
    words: (event, n) => {
      const sold = event.sold || 0;
      return [
        n === undefined || n === null ? L("Seats have no end: as many buy as come.", "좌석 수에 제한이 없습니다.")
          : L(`There are ${count(n)} seats in all, of which ${count(sold)} are sold and ${count(event.currentUsers)} are with people inside.`, `전체 좌석은 ${count(n)}석이며 ${count(sold)}석이 판매되었고 ${people(event.currentUsers)}이 들어와 있습니다.`),
        n <= sold && n !== null && L("All are sold then: nobody joins, and who waits is told.", "모두 판매된 것이 됩니다. 더 이상 대기할 수 없고 기다리는 사람에게 알립니다."),
        n > sold && n < sold + event.currentUsers && L("Nobody is put out, and nobody is let in until there are seats for more.", "내보내지는 않으며, 좌석이 생길 때까지 아무도 입장하지 않습니다.")
      ];
    },
    ask: (event, n, configured) => configured ? ["DELETE", path(data.queue, "slots", event)] : ["PUT", path(data.queue, "slots", event) + `?slots=${n}`]
  },

  // lost: seats that are set without it would be for sale once more

  sold: {
    label: L("Sold so far…", "판매된 좌석…"), title: L("How many seats are sold?", "몇 석이 판매되었나요?"), verb: L("Go on with that", "이 수로 계속하기"),
    done: L("How many are sold is known again.", "판매된 좌석 수를 설정했습니다."),
    field: { label: L("Sold so far, by your books", "지금까지 판매된 좌석 (예매 기록 기준)"), min: 0, max: 2000000000, value: () => "" },
    words: (event, n) => [
      L(`Of ${count(event.slots)} seats in all ${count(Math.max(event.slots - n, 0))} are left then, and who waits is let in for them.`, `전체 ${count(event.slots)}석 중 ${count(Math.max(event.slots - n, 0))}석이 남으며, 기다리는 사람이 입장합니다.`),
      L("Fewer than were really sold, and seats are sold twice. What was completed since the loss is in your books as well.", "실제보다 적게 입력하면 좌석이 중복 판매됩니다. 유실 이후에 완료된 예매도 포함해 주세요."),
      n >= event.slots && L("All are sold then: nobody joins, and who waits is told.", "모두 판매된 것이 됩니다. 더 이상 대기할 수 없고 기다리는 사람에게 알립니다.")
    ],
    ask: (event, n) => ["PUT", path(data.queue, "slots", event) + `?slots=${event.slots}&sold=${n}`]
  },

  hold: {
    label: L("Hold…", "보류…"), title: L("Hold everybody outside?", "모두 밖에서 기다리게 할까요?"), verb: L("Hold", "보류하기"), danger: true,
    done: L("The event is held.", "입장을 보류했습니다."),
    inside: event => event.hold === "inside",
    words: (event, n, texts, times, inside) => [
      L("Nobody is let in, by the waiting room or by the queue, on all hosts, until you let go. Who waits keeps the place, and people may join.", "다시 풀 때까지 모든 서버에서 대기실과 대기열 모두 아무도 입장하지 않습니다. 기다리는 사람은 순번을 유지하고 새로 줄을 설 수 있습니다."),
      inside ? L(`${people(event.currentUsers)} inside the queue's limit, and all whose turn in the waiting room has come, are stopped at their next page. Their time stands still meanwhile.`, `입장한 ${people(event.currentUsers)}과 대기실 차례가 된 모두가 다음 페이지부터 멈춥니다. 그동안 이용 시간은 줄지 않습니다.`)
             : L(`${people(event.currentUsers)} inside ${event.currentUsers === 1 ? "goes" : "go"} on.`, `입장한 ${people(event.currentUsers)}은 계속 이용합니다.`),
      inside && !event.notice && L("They see no reason: say one with a notice.", "이유가 표시되지 않습니다. 공지로 알려 주세요.")
    ],
    ask: (event, n, configured, texts, times, inside) => ["PUT", path(data.api, "hold", event) + `?inside=${inside ? "on" : "off"}`]
  },

  release: {
    label: L("Let go…", "보류 풀기…"), title: L("Let go of the event?", "보류를 풀까요?"), verb: L("Let go", "보류 풀기"),
    done: L("The event is no longer held.", "보류를 풀었습니다."),
    words: event => [
      L(`People are let in again, by the rate and the limit: ${people(waits(event))} in the waiting room and ${people(event.queueSize)} in the queue wait.`, `입장 속도와 한도에 따라 다시 입장합니다. 대기실 ${people(waits(event))}, 대기열 ${people(event.queueSize)}이 기다립니다.`),
      event.hold === "inside" && L("Those inside go on, each with the time that was left.", "입장한 사람은 남은 시간 그대로 계속 이용합니다.")
    ],
    ask: event => ["DELETE", path(data.api, "hold", event)]
  },

  clear: {
    label: L("Clear…", "비우기…"), title: L("Clear the queue?", "대기열을 비울까요?"), verb: L("Clear the queue", "대기열 비우기"), danger: true,
    done: L("The queue is cleared.", "대기열을 비웠습니다."),
    words: event => [
      L(`${people(event.queueSize)} waiting ${event.queueSize === 1 ? "loses the" : "lose their"} place.`, `기다리는 ${people(event.queueSize)}이 순번을 잃습니다.`),
      L(`${people(event.currentUsers)} inside ${event.currentUsers === 1 ? "is" : "are"} put out, and all entry tokens of this event end.`, `들어와 있는 ${people(event.currentUsers)}이 나가게 되고, 이 이벤트의 모든 입장 토큰이 끝납니다.`),
      L("It cannot be undone. Who comes again joins at the end.", "되돌릴 수 없습니다. 다시 오는 사람은 맨 뒤에 섭니다."),
      L("The waiting room is not touched.", "대기실은 바뀌지 않습니다.")
    ],
    ask: event => ["POST", path(data.queue, "clear", event)]
  }
};

const zone = Intl.DateTimeFormat().resolvedOptions().timeZone || "";

const TIMES = ["opens", "starts", "closes"];

// as the field has it: of the device's time zone, in seconds

function inField(time) {
  if (!time) return "";
  const date = new Date(time);
  return new Date(date.getTime() - date.getTimezoneOffset() * 60000).toISOString().slice(0, 19);
}

// the times of the fields, null: none; null in all: those of the configuration.
// undefined: they are none, or not in order

function timed() {
  if ($("times-configured").checked) return null;
  const times = {};
  let last = -Infinity;
  for (const name of TIMES) {
    const field = $(`time-${name}`);
    if (!field.value && !(field.validity && field.validity.badInput)) {
      times[name] = null;
      continue;
    }
    const date = new Date(field.value);
    if (!(date.getTime() >= last)) return undefined;
    last = date.getTime();
    times[name] = date.toISOString();
  }
  return times;
}

const orNone = n => n === undefined || n === null ? L("no end", "제한 없음") : count(n);

// ---- the dialog

let asking = null;      // { event, what }, of the dialog that is open
let working = false;

function put(element, value) {
  if (element.textContent !== value) element.textContent = value;
  element.hidden = !value;
}

function choose(event, name) {
  const what = switches[name];
  asking = { event, what };
  $("ask").classList.toggle("danger", Boolean(what.danger));
  $("yes").classList.toggle("danger", Boolean(what.danger));
  put($("ask-title"), what.title);
  put($("ask-event"), nameOf(event));
  put($("ask-error"), "");
  put($("no"), L("Cancel", "취소"));
  $("ask-field").hidden = !what.field;
  if (what.field) {
    const configured = what.field.configured;
    put($("number-label"), what.field.label);
    $("number").value = String(what.field.value(event));
    $("number").disabled = false;
    $("configured-row").hidden = !configured;
    $("configured").checked = false;
    if (configured) put($("configured-label"), L(`As the configuration says: ${orNone(configured(event))}`, `설정값 사용: ${orNone(configured(event))}`));
  }
  $("ask-texts").hidden = !what.texts;
  if (what.texts) {
    put($("text-ko-label"), L("In Korean", "한국어"));
    put($("text-en-label"), L("In English", "영어"));
    for (const lang of ["ko", "en"]) $(`text-${lang}`).value = what.texts(event)[lang] || "";
  }
  $("ask-times").hidden = !what.times;
  if (what.times) {
    const times = what.times(event);
    const names = { opens: L("Opens: tickets are given", "오픈: 번호 발급"), starts: L("Starts: people are let in", "시작: 입장"), closes: L("Closes: nobody joins any more", "종료: 참여 마감") };
    for (const name of TIMES) {
      put($(`time-${name}-label`), names[name]);
      $(`time-${name}`).value = inField(times[name]);
    }
    $("times-configured").checked = false;
    put($("times-configured-label"), L("As the configuration says", "설정값 사용"));
  }
  $("ask-inside").hidden = !what.inside;
  if (what.inside) {
    $("inside").checked = what.inside(event);
    put($("inside-label"), L("Those inside too", "입장한 사람도"));
  }
  $("ask-words").textContent = "";
  explain();
  $("ask").showModal();
  if (what.field) {
    $("number").focus();
    $("number").select();
  } else if (what.texts) {
    $("text-ko").focus();
  } else if (what.times) {
    $("time-starts").focus();
  } else {
    $("no").focus();
  }
}

// the number of the field; NaN: it is none, or out of bounds

function wanted() {
  const { event, what } = asking;
  const field = what.field;
  if (!field) return 0;
  if (field.configured && $("configured").checked) return field.configured(event);
  const text = $("number").value.replace(/[\s,]/g, "");
  const n = /^\d{1,12}$/.test(text) ? Number(text) : NaN;
  return n >= field.min && n <= field.max ? n : NaN;
}

// a sentence each, in one line

function written() {
  const texts = {};
  for (const lang of ["ko", "en"]) texts[lang] = $(`text-${lang}`).value.replace(/\s+/g, " ").trim();
  return texts;
}

function explain() {
  if (!asking || working) return;
  const { event, what } = asking;
  const n = wanted();
  const times = what.times && timed();
  const words = times === undefined && what.times
    ? [L("Dates and times, each not before the one above; an empty one is none.", "날짜와 시각을 순서대로 입력하세요. 비워 두면 없는 것이 됩니다.")]
    : Number.isNaN(n)
    ? [L(`A whole number from ${count(what.field.min)} to ${count(what.field.max)}.`, `${count(what.field.min)}부터 ${count(what.field.max)}까지의 정수를 입력하세요.`)]
    : what.words(event, n, written(), times, $("inside").checked).filter(Boolean);
  const list = $("ask-words");
  words.forEach((text, i) => put(list.children[i] || list.appendChild(document.createElement("li")), text));
  while (list.children.length > words.length) list.lastChild.remove();
  $("number").disabled = Boolean(what.field && what.field.configured && $("configured").checked);
  $("number").setAttribute("aria-invalid", String(Number.isNaN(n)));
  put($("yes"), what === switches.advance && !Number.isNaN(n) ? L(`Let in ${count(n)}`, `${count(n)}명 입장시키기`) : what.verb);
  $("yes").disabled = false;
}

async function carryOut() {
  if (!asking || working) return;
  const { event, what } = asking;
  const n = wanted();
  if (Number.isNaN(n)) {
    put($("ask-error"), $("ask-words").textContent);
    $("number").focus();
    return;
  }
  const times = what.times && timed();
  if (what.times && times === undefined) {
    put($("ask-error"), $("ask-words").textContent);
    $("time-starts").focus();
    return;
  }
  working = true;
  $("yes").disabled = true;
  put($("ask-error"), "");
  const [method, url, body] = what.ask(event, n, Boolean(what.field && what.field.configured && $("configured").checked), written(), times, $("inside").checked);
  const answer = await call(method, url, body);
  working = false;
  $("yes").disabled = false;
  if (answer.status === 200 && answer.ours) {
    $("ask").close();
    say(`${nameOf(event)}: ${what.done}`);
    poll();
    return;
  }
  put($("ask-error"), failure(answer, url));
  explain();
  if (answer.status === 401 || answer.status === 403) poll();
}

$("ask-form").addEventListener("submit", event => {
  event.preventDefault();
  carryOut();
});
$("ask-form").addEventListener("input", () => {
  put($("ask-error"), "");
  explain();
});
// browsers of before 2022 have no dialogs

if (!$("ask").showModal) {
  $("ask").showModal = () => $("ask").setAttribute("open", "");
  $("ask").close = () => {
    $("ask").removeAttribute("open");
    $("ask").dispatchEvent(new Event("close"));
  };
}

$("no").addEventListener("click", () => $("ask").close());

// what has been sent is not taken back by closing the dialog

$("ask").addEventListener("cancel", event => {
  if (working) event.preventDefault();
});
$("ask").addEventListener("close", () => {
  asking = null;
});
