
// ---- the stream, which tells what polls would be told, as it changes

// A page polls until a stream has told it something, and again when it is
// silent for longer than a stream ever is.  A turn is taken by a poll, which
// gets the cookies.

let stream = null;
let streamFrom = 0;
let streamFails = 0;

// of the connections that a browser has to a site over HTTP/1.1, tabs in the
// background take none

const shared = /^h[23]/.test(((performance.getEntriesByType("navigation") || [])[0] || {}).nextHopProtocol);

const streaming = () => stream && stream.told && Date.now() - stream.heard < 35000;

function hush(wait) {
  if (!stream) return;
  const { control } = stream;
  stream = null;
  if (wait) streamFrom = Date.now() + wait;
  control.abort();
}

function told(body) {
  if (body.status === "reconnect") return;
  if (body.admitted || body.holder === false || [ "active", "ready", "not_in_queue" ].includes(body.status)) {
    hush();
    poll();
    return;
  }
  stream.told = true;
  streamFails = 0;

  // what counts down: as if it had been on its way for half a second

  sent = performance.now() - 500;
  react({ status: 200, body }, document.hidden);
}

function heard(one, text) {
  for (const line of text.split("\n")) {
    if (/^retry: ?\d+$/.test(line)) one.retry = +line.slice(6);
    if (line.startsWith("data:") && stream === one && !over) told(JSON.parse(line.slice(5)));
  }
}

async function read(one, body) {
  const reader = body.getReader();
  const decoder = new TextDecoder();
  let text = "";
  while (stream === one) {
    const { done, value } = await reader.read();
    if (done) return;
    one.heard = Date.now();
    text += decoder.decode(value, { stream: true });
    for (let end; (end = text.indexOf("\n\n")) >= 0; text = text.slice(end + 2)) heard(one, text.slice(0, end));
  }
}

async function listen() {
  if (!window.ReadableStream || !window.TextDecoder) return;
  if (stream || over || !place || Date.now() < streamFrom || document.hidden && !shared) return;
  const control = new AbortController();
  const one = stream = { control, since: Date.now(), heard: 0, told: false, retry: 2000 };
  let wait = 0;
  try {
    const headers = Object.assign({ "Accept-Language": L("en", "ko") }, tier.mine());
    const response = await fetch(data.api + tier.stream(), { headers, signal: control.signal, cache: "no-store", credentials: "same-origin", redirect: "error" });
    if (response.status === 200 && response.body) {
      await read(one, response.body);
    } else {
      const body = await response.json().catch(() => null) || {};
      wait = body.code === "NOT_FOUND" ? Infinity : Math.max(retryAfter(response, body), 60) * (1000 + Math.random() * 500);
    }
  } catch (error) {
    // cut: polls go on
  }
  if (stream !== one) return;
  hush();
  if (!wait) wait = one.told ? one.retry : Math.min(2 ** streamFails++ * 5000, 600000) * (1 + Math.random());
  streamFrom = Date.now() + wait;
  if (wait < 600000) setTimeout(listen, wait + 50);
  if (place && !over) after(Math.min(pace, 5) * (1 + Math.random()));
}

// a proxy that holds it up, or a connection that is no more

setInterval(() => {
  if (!stream || Date.now() - (stream.heard || stream.since) < (stream.told ? 35000 : 8000)) return;
  hush(600000 * (1 + Math.random()));
  poll();
}, 2000);

document.addEventListener("visibilitychange", () => {
  if (document.hidden && !shared && stream) {
    hush();
    after(pace);
  }
});
