// What is on a card, part by part.

// what pages say, as they say it: plain text, a paragraph a language

function fillWord(part, notice) {
  const key = JSON.stringify(notice);
  if (part.known === key) return;
  part.known = key;
  part.says.hidden = !notice;
  if (!notice) return;
  const line = lang => {
    const element = make("p", "", notice[lang]);
    element.lang = lang;
    element.dir = "auto";
    return notice[lang] && element;
  };
  content(part.says, ...[line("ko"), line("en"), make("p", "sub", L("Shown since ", "공지 시각 ") + day(notice.at * 1000))].filter(Boolean));
}

function fillHold(part, event) {
  put(part.held, event.hold === "inside" ? L("Held: nobody is let in, and those inside are stopped too", "보류 중: 아무도 입장하지 않으며 입장한 사람도 멈춰 있습니다")
    : event.hold ? L("Held: nobody is let in", "보류 중: 아무도 입장하지 않습니다") : "");
  shown(part, ["notice", event.hold ? "release" : "hold"]);
}

// what is in force, where that is not what is set

const inForce = (now, set) => now === undefined || now >= set ? "" : L(`, ${count(now)} in force`, `, 지금 ${count(now)}명`);

const limits = { latency: L("Limited: too slow", "제한: 느림"), errors: L("Limited: failures", "제한: 오류"), paused: L("Stopped", "멈춤") };
const share = hundredths => Math.round(hundredths) / 100;

function fillBackend(part, event) {
  const of = event.backend;
  part.root.hidden = !of;
  if (!of) return;
  const dry = of.follow === "dry";
  if (of.age === null) {
    chip(part, "", L("Not known", "알 수 없음"));
  } else if (of.limitedBy) {
    chip(part, of.limitedBy === "paused" && !dry ? "bad" : "warn", limits[of.limitedBy] + (dry ? L(", not applied", " (적용 안 함)") : ""));
  } else {
    chip(part, "on", L("Nothing limits", "제한 없음"));
  }
  put(part.lead, dry ? L("A dry run: this is what would be, and nothing is applied.", "시험 운영 중입니다. 계산만 하고 적용하지 않습니다.") : "");
  const failed = of.counted > 0 ? share(10000 * of.failed / of.counted) : null;
  write(part.values.latency, of.latency, (of.latency === null ? "" : " ms") + (of.maxLatency === null ? "" : L(` of ${count(of.maxLatency)} ms`, ` / ${count(of.maxLatency)} ms`)));
  write(part.values.failed, failed, (failed === null ? "" : " %") + (of.maxErrors === null ? "" : L(` of ${count(share(of.maxErrors))} %`, ` / ${count(share(of.maxErrors))} %`)));
  write(part.values.rate, of.rate === null ? event.rate : Math.min(event.rate, of.rate / 1000), L(` of ${count(event.rate)}`, ` / ${count(event.rate)}`));
  write(part.values.threshold, of.threshold === null ? event.threshold : Math.min(event.threshold, of.threshold), L(` of ${count(event.threshold)}`, ` / ${count(event.threshold)}`));
  facts(part, [
    L(`${count(of.requests)} requests in 5 seconds`, `5초간 요청 ${count(of.requests)}건`),
    of.pause > 0 && L(`Asks to be left alone for ${seconds(of.pause)}`, `${seconds(of.pause)} 동안 쉬기를 요청`),
    of.age > 10 && L(`As of ${seconds(of.age)} ago`, `${seconds(of.age)} 전 기준`)
  ]);
  part.table.root.hidden = !backends.has(event.eventId);
}

// The charts once more, for who reads; made when it is opened.

function pointsOf(part) {
  const root = make("details", "points");
  const table = make("table");
  root.hidden = true;
  root.append(make("summary", "", L("The last 15 minutes as a table", "최근 15분 표로 보기")), table);
  root.addEventListener("toggle", () => tabulate(part, part.card.event.eventId));
  part.root.append(root);
  return { root, table };
}

function tabulate(part, id) {
  if (!part.table.root.open) return;
  const row = (tag, cells) => {
    const line = make("tr");
    line.append(...cells.map(text => make(tag, "", text)));
    return line;
  };
  const head = row("th", [L("Time", "시각"), L("Slowest 5%", "느린 5%"), L("Failed", "실패"), L("Requests a second", "초당 요청"), L("Rate at most", "초당 최대"), L("Inside at most", "동시 입장 최대"), L("Limited", "제한")]);
  for (const cell of head.children) cell.scope = "col";
  const free = L("as set", "설정값");
  content(part.table.table, head, ...[...(backends.get(id) || [])].reverse().map(point => row("td", [
    clock(point[WHEN] * 1000),
    point[LATENCY] === null ? "–" : `${count(point[LATENCY])} ms`,
    point[FAILED] === null ? "–" : `${count(share(point[FAILED]))} %`,
    count(point[REQUESTS]),
    point[RATE] === null ? free : count(point[RATE] / 1000),
    point[THRESHOLD] === null ? free : count(point[THRESHOLD]),
    limits[point[WHY]] || "–"
  ])));
}

// Where nothing limits, the limit is what is set.

function drawBackend(part, id) {
  const event = part.card.event;
  draw(part.values.latency, seriesBack(id, LATENCY, 1));
  draw(part.values.failed, seriesBack(id, FAILED, .01));
  draw(part.values.rate, seriesBack(id, RATE, .001).map(([when, rate]) => [when, Math.min(rate, event.rate)]));
  draw(part.values.threshold, seriesBack(id, THRESHOLD, 1).map(([when, most]) => [when, Math.min(most, event.threshold)]));
  part.root.classList.toggle("idle", !(backends.get(id) || []).length);
  part.table.root.hidden = false;
  tabulate(part, id);
}

const phases = {
  before: L("Not open yet", "오픈 전"), gathering: L("Gathering: tickets are given, nobody is let in", "대기 접수 중: 번호만 발급하고 입장은 없음"),
  open: L("Open", "판매 중"), closed: L("Closed: nobody joins", "종료: 새 참여 없음")
};

function fillSale(part, schedule) {
  const key = JSON.stringify(schedule);
  if (part.known === key) return;
  part.known = key;
  if (!schedule) return put(part.says, "");
  const times = [["opens", L("opens", "오픈")], ["starts", L("starts", "시작")], ["closes", L("closes", "종료")]]
    .filter(([name]) => schedule[name]).map(([name, word]) => `${word} ${whole(new Date(schedule[name]))}`);
  put(part.says, [phases[schedule.phase] || L("No times", "일정 없음"), ...times,
    schedule.setBy === "api" && L("set by an operator", "운영자가 정함")].filter(Boolean).join(" · "));
}

// Long numbers are whole in the title, and may be copied from there.

function fillDraw(part, drawn) {
  const key = JSON.stringify(drawn);
  if (part.lotsKnown === key) return;
  part.lotsKnown = key;
  part.lots.hidden = !drawn;
  if (!drawn) return;
  const number = (word, value) => {
    const root = make("span", "", value.length > 20 ? `${word} ${value.slice(0, 12)}…` : `${word} ${value}`);
    root.title = value;
    return root;
  };
  const pieces = [
    make("span", "", drawn.seed ? L("Drawn", "추첨 완료") : drawn.lots !== null && drawn.beaconSource ? L("The draw waits for its beacon", "비컨을 기다리는 중")
      : L("To be drawn", "추첨 예정")),
    drawn.lots !== null && make("span", "", L(`${count(drawn.lots)} lots`, `추첨권 ${count(drawn.lots)}장`)),
    drawn.commitment && number(L("commitment", "약속 해시"), drawn.commitment),
    drawn.beaconSource && number(L("beacon of", "비컨 출처"), drawn.beaconSource),
    drawn.beacon && number(L("beacon", "비컨"), drawn.beacon),
    drawn.seed && number(L("seed", "시드"), drawn.seed)
  ].filter(Boolean);
  content(part.lots, ...[].concat(...pieces.map((piece, i) => i ? [" · ", piece] : [piece])));
}

function fillRoom(part, event) {
  const on = event.isActive;
  const seen = rowsOf(event.eventId).some(row => row[ROOM_WAITING] > 0);
  part.root.classList.toggle("off", !on && !seen);
  if (!on) {
    chip(part, "", L("Off", "꺼짐"));
  } else if (event.hold) {
    chip(part, "warn", L("Held", "보류"));
  } else if (event.rate === 0) {
    chip(part, "warn", L("Paused", "멈춤"));
  } else if (event.standby) {
    chip(part, "", L("Standby", "대기"));
  } else {
    chip(part, "on", event.standby === false ? L("Shows", "표시 중") : L("On", "켜짐"));
  }
  put(part.lead, on ? event.standby ? L("Unseen: whoever comes goes straight on, while fewer come than the rate.", "방문자에게 보이지 않습니다. 입장 속도보다 적게 오는 동안 모두 바로 들어갑니다.")
      : event.standby === false ? L("More came than the rate: people see it, until nobody has waited for 10 seconds.", "입장 속도보다 많이 와서 대기실이 보입니다. 10초 동안 아무도 기다리지 않으면 다시 보이지 않습니다.") : ""
    : event.vwr === "off" ? L("The configuration keeps it off (vwr=off).", "설정에서 꺼 두었습니다 (vwr=off).")
    : event.waiting > 0 ? L(`Everybody goes straight on. ${people(event.waiting)} had a number when it was turned off.`, `모두 바로 들어갑니다. 껐을 때 ${people(event.waiting)}이 번호를 갖고 있었습니다.`)
    : L("Everybody goes straight on.", "모두 바로 들어갑니다."));
  write(part.values.waiting, on ? event.waiting : 0);
  write(part.values.served, lately(event.eventId, SERVED));
  facts(part, [
    on && L(`Number ${count(served(event))} of ${count(event.nextPosition)}`, `${count(event.nextPosition)}번 중 ${count(served(event))}번까지`),
    L(`Rate ${count(event.rate)} a second`, `초당 ${count(event.rate)}명`) + (event.rate === event.configuredRate ? "" : L(` (configured: ${count(event.configuredRate)})`, ` (설정값 ${count(event.configuredRate)}명)`)) + inForce(event.effectiveRate, event.rate),
    on && event.comePercent < 100 && L(`${event.comePercent} % of those called come`, `호출된 사람 중 ${event.comePercent}% 입장`),
    on && event.there < event.waiting && L(`${count(event.there)} of those waiting are there`, `대기 중 ${count(event.there)}명 접속`),
    on && event.setBy === "config" && L("On by configuration", "설정으로 켜짐")
  ]);
  shown(part, [
    !on && event.vwr !== "off" && "activate",
    !on && event.vwr !== "off" && event.activation > 0 && "resume",
    on && "advance",
    "rate",
    on && event.vwr !== "on" && event.vwr !== "standby" && "deactivate"
  ].filter(Boolean));
}

function fillQueue(part, event) {
  if (event.restoring > 0) {
    chip(part, "bad", L("Restoring", "복구 중"));
  } else if (event.slots <= event.sold) {
    chip(part, "warn", L("Sold out", "매진"));
  } else if (event.hold) {
    chip(part, "warn", L("Held", "보류"));
  } else if (event.threshold === 0) {
    chip(part, "warn", L("Paused", "멈춤"));
  } else if (event.currentUsers >= event.threshold) {
    chip(part, "on", event.currentUsers > event.threshold ? L("Over the limit", "한도 초과") : L("Full", "만석"));
  } else {
    chip(part, "", event.queueSize ? L("Letting in", "입장 중") : L("Open", "여유"));
  }
  put(part.lead, "");
  write(part.values.queued, event.queueSize);
  write(part.values.inside, event.currentUsers, L(` of ${count(event.threshold)}`, ` / ${count(event.threshold)}`));
  write(part.values.admitted, lately(event.eventId, ADMITTED));
  facts(part, [
    L(`${count(event.available)} free`, `${count(event.available)}자리 남음`),
    L(`Limit ${count(event.threshold)}`, `한도 ${count(event.threshold)}명`) + (event.threshold === event.configuredThreshold ? "" : L(` (configured: ${count(event.configuredThreshold)})`, ` (설정값 ${count(event.configuredThreshold)}명)`)) + inForce(event.effectiveThreshold, event.threshold),
    event.viewAge >= 0 && L(`Polls answered by this host, from the line of ${seconds(event.viewAge)} ago`, `${seconds(event.viewAge)} 전의 줄을 보고 이 서버가 직접 응답`),
    L(`${count(event.admitted)} let in so far`, `지금까지 ${count(event.admitted)}명 입장`),
    event.slots >= 0 && (event.sold === null ? L(`${count(event.slots)} seats`, `좌석 ${count(event.slots)}석`) : L(`${count(event.sold)} of ${count(event.slots)} seats sold`, `좌석 ${count(event.slots)}석 중 ${count(event.sold)}석 판매`))
  ]);
  const lost = event.slots >= 0 && event.sold === null;
  shown(part, ["threshold", lost ? "sold" : "slots", "clear"]);
}
