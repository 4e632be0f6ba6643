// A card of an event: what it is made of, and its charts.

function newCard(event) {
  const root = make("section", "event");
  const head = make("header");
  const title = make("h2");
  const sub = make("p", "sub");
  root.id = "event-" + event.eventId;
  root.tabIndex = -1;
  title.id = root.id + "-title";
  root.setAttribute("aria-labelledby", title.id);
  head.append(title, sub);
  const card = { root, title, sub, event, parts: {} };
  const tiers = make("div", "tiers");
  const room = card.room = tier(card, L("Waiting room", "대기실"));
  const queue = card.queue = tier(card, L("Queue", "대기열"));

  stat(room, "waits", "waiting", L("Waiting", "대기"));
  stat(room, "enters", "served", L("Let in per minute", "분당 입장"));
  stat(queue, "waits", "queued", L("Waiting", "대기"));
  stat(queue, "inside", "inside", L("Inside", "입장 중"));
  stat(queue, "enters", "admitted", L("Let in per minute", "분당 입장"));
  for (const name of ["activate", "resume", "advance", "rate", "deactivate"]) button(room, name);
  for (const name of ["threshold", "slots", "sold", "clear"]) button(queue, name);

  const word = card.word = { card, root: make("div", "word"), says: make("div", "says"), switches: make("div", "switches"), buttons: {} };
  word.held = make("p", "held");
  word.root.append(word.says, word.held, word.switches);
  for (const name of ["notice", "hold", "release"]) button(word, name);

  const sale = card.sale = { card, root: make("div", "word"), says: make("p", "sub"), lots: make("p", "sub draw"), switches: make("div", "switches"), buttons: {} };
  sale.root.append(sale.says, sale.lots, sale.switches);
  button(sale, "schedule");

  const backend = card.backend = tier(card, L("Backend", "백엔드"), "div");
  backend.root.classList.add("backend");
  backend.root.setAttribute("role", "group");
  backend.root.setAttribute("aria-label", L("Backend", "백엔드"));
  stat(backend, "waits", "latency", L("Slowest 5% take", "느린 5%의 응답 시간"));
  stat(backend, "enters", "failed", L("Failed", "실패"));
  stat(backend, "inside", "rate", L("Waiting room, a second at most", "대기실 초당 최대"));
  stat(backend, "inside", "threshold", L("Inside at most", "동시 입장 최대"));
  backend.table = pointsOf(backend);

  tiers.append(room.root, queue.root);
  root.append(head, word.root, sale.root, tiers, backend.root);
  return card;
}

function tier(card, name, tag) {
  const root = make(tag || "section", "tier");
  const head = make("div", "name");
  const title = make("h3", "", name);
  const part = { card, root, chip: make("span", "chip"), lead: make("p", "lead"), stats: make("dl", "stats"), facts: make("p", "facts"), switches: make("div", "switches"), values: {}, buttons: {} };
  head.append(title, part.chip);
  root.append(head, part.lead, part.stats, part.facts, part.switches);
  return part;
}

const svg = (tag, name) => {
  const element = document.createElementNS("http://www.w3.org/2000/svg", tag);
  if (name) element.setAttribute("class", name);
  return element;
};

function stat(part, look, name, label) {
  const root = make("div", "stat");
  const value = make("dd");
  const chart = svg("svg", "chart " + look);
  const base = svg("line", "base");
  const area = svg("path", "area");
  const line = svg("path", "line");
  const span = make("p", "span");
  const top = make("span");
  span.append(make("span", "", L("15 min ago", "15분 전")), top);
  chart.setAttribute("viewBox", `0 0 ${SPAN} 40`);
  chart.setAttribute("preserveAspectRatio", "none");
  chart.setAttribute("role", "img");
  for (const [key, at] of [["x1", 0], ["x2", SPAN], ["y1", 39.5], ["y2", 39.5]]) base.setAttribute(key, at);
  chart.append(base, area, line);
  root.append(make("dt", "", label), value, chart, span);
  part.stats.append(root);
  part.values[name] = { value, chart, area, line, top, label };
}

function button(part, name) {
  const element = make("button", "button" + (switches[name].danger ? " danger" : ""), switches[name].label);
  element.type = "button";
  element.addEventListener("click", () => choose(part.card.event, name));
  part.buttons[name] = element;
  part.switches.append(element);
}

// Where the page was not there, or hidden, for 30 s, the line has a gap.

function draw(stat, points) {
  const now = slot();
  const top = points.reduce((most, point) => Math.max(most, point[1]), 0);
  const pieces = [];
  let last = -Infinity;
  for (const [when, value] of points) {
    if (when - last > 30 / STEP) pieces.push([]);
    last = when;
    pieces[pieces.length - 1].push(`${SPAN - (now - when)},${(38.5 - (top ? value / top * 37 : 0)).toFixed(1)}`);
  }
  stat.line.setAttribute("d", pieces.map(piece => "M" + piece.join("L") + (piece.length > 1 ? "" : "h.01")).join(""));
  stat.area.setAttribute("d", pieces.map(piece => `M${piece[0].split(",")[0]},39.5L${piece.join("L")}L${piece[piece.length - 1].split(",")[0]},39.5z`).join(""));
  put(stat.top, top ? L(`max ${count(Math.round(top))}`, `최대 ${count(Math.round(top))}`) : "");
  stat.chart.dataset.points = points.length;
  stat.chart.setAttribute("aria-label", L(`${stat.label}, the last 15 minutes: at most ${count(Math.round(top))}`, `${stat.label}, 최근 15분: 최대 ${count(Math.round(top))}`));
}

function write(stat, value, small) {
  const text = value === null ? "–" : count(value);
  if (stat.value.textContent === text + (small || "")) return;
  content(stat.value, text, ...(small ? [make("small", "", small)] : []));
}

function chip(part, look, text) {
  part.chip.className = "chip " + look;
  put(part.chip, text);
}

function facts(part, list) {
  const pieces = list.filter(Boolean);
  const key = pieces.join("\n");
  if (part.known === key) return;
  part.known = key;
  content(part.facts, ...pieces.map(text => make("span", "", text)));
}

function shown(part, names) {
  for (const [name, element] of Object.entries(part.buttons)) {
    const hidden = !names.includes(name);
    if (hidden && document.activeElement === element) {
      const other = names.find(one => part.buttons[one]);
      if (other) {
        part.buttons[other].hidden = false;
        part.buttons[other].focus();
      }
    }
    element.hidden = hidden;
  }
}

function fill(card, event) {
  card.event = event;
  card.root.classList.remove("gone");
  put(card.title, nameOf(event));
  const info = event.eventInfo || {};
  const key = `${info.artist || ""}\n${info.title ? event.eventId : ""}`;
  if (card.known !== key) {
    card.known = key;
    content(card.sub, ...[info.artist, info.artist && info.title && " · ", info.title && make("code", "", event.eventId)].filter(Boolean));
    card.sub.hidden = !card.sub.childNodes.length;
  }
  fillWord(card.word, event.notice);
  fillHold(card.word, event);
  fillBackend(card.backend, event);
  fillSale(card.sale, event.schedule);
  fillDraw(card.sale, event.draw);
  fillRoom(card.room, event);
  fillQueue(card.queue, event);
  const id = event.eventId;
  const rows = rowsOf(id);
  const last = String(rows[rows.length - 1]);
  if (card.drawn === last) return;
  card.drawn = last;
  draw(card.room.values.waiting, series(id, ROOM_WAITING));
  draw(card.room.values.served, perMinute(id, SERVED));
  draw(card.queue.values.queued, series(id, QUEUE_WAITING));
  draw(card.queue.values.inside, series(id, INSIDE));
  draw(card.queue.values.admitted, perMinute(id, ADMITTED));
  for (const part of [card.room, card.queue]) {
    part.root.classList.toggle("idle", Object.values(part.values).every(stat => stat.top.hidden));
  }
}
