// ---- how long it takes, in words; src/page/words.c says the same

function span(m) {
  const h = m < 60 ? 0 : Math.floor(m / 60);
  m -= h * 60;
  return [
    h && L(`${h} hour${h > 1 ? "s" : ""}`, `${h}시간`),
    m && L(`${m} minute${m > 1 ? "s" : ""}`, `${m}분`)
  ].filter(Boolean).join(" ");
}

function words(seconds) {
  if (seconds < 60) return L("less than a minute", "1분 이내");
  let m = Math.ceil(seconds / 60);
  if (m > 10) m = Math.ceil(m / 5) * 5;
  if (m > 90) m = Math.ceil(m / 10) * 10;
  if (m >= 1440) return L("more than a day", "하루 이상");
  return L("about ", "약 ") + span(m);
}

// what is said is never less wide than what was told

function between([low, high]) {
  const step = 60 * (high > 5400 ? 10 : high > 1800 ? 5 : 1);
  const from = Math.floor(low / step) * step / 60;
  const to = Math.ceil(high / step) * step / 60;
  if (to < 2 || from === to || from >= 1440) return words(high);
  if (to >= 1440 && low < 60) return L("not known yet", "아직 알 수 없음");
  if (to >= 1440) return L(`more than ${span(from || 1)}`, `${span(from || 1)} 이상`);
  if (!from) return L(`up to ${span(to)}`, `${span(to)} 이내`);
  return to < 60 ? L(`${from} to ${to} minutes`, `${from}~${to}분`) : L(`${span(from)} to ${span(to)}`, `${span(from)}~${span(to)}`);
}
