// Chromium for the tests: t/lib/Admission/Browser.pm runs a script that calls
// run(), and turns each line of JSON that it prints into a check.

"use strict";

const path = require("path");
const { chromium } = require(path.join(process.env.ADMISSION_NODE_MODULES,
                                       "playwright-core"));

const config = JSON.parse(process.env.ADMISSION_CONFIG);
const slow = Number(process.env.TEST_SLOW || 1);

const out = line => process.stdout.write(JSON.stringify(line) + "\n");

function ok(value, name, diag) {
    out({ ok: Boolean(value), name, diag: value ? undefined : diag });
    return value;
}

function is(got, expected, name) {
    return ok(got === expected, name,
              `got ${JSON.stringify(got)}, expected ${JSON.stringify(expected)}`);
}

function like(got, pattern, name) {
    return ok(pattern.test(got), name,
              `got ${JSON.stringify(got)}, expected ${pattern}`);
}

const sleep = seconds => new Promise(done => setTimeout(done, seconds * 1000));

// the value of the function once it is true, or the last one; a page may take
// its time where the machine does
async function until(what, seconds = 60) {
    const end = Date.now() + seconds * 1000 * slow;

    // what is there soon is seen soon, and what is not costs little

    for (let pause = .02;; pause = Math.min(1.5 * pause, .15)) {
        const value = await Promise.resolve().then(what).catch(() => undefined);
        if (value || Date.now() > end) return value;
        await sleep(pause);
    }
}

// Milliseconds that go by here, of which those are not counted in which the machine
// stood still, or others had its processors

let passed = 0;
let looked = Date.now();

setInterval(() => {
    const now = Date.now();
    passed += Math.min(now - looked, 100);
    looked = now;
}, 50).unref();

const went = () => passed;

// Scenarios that have nothing to do with each other and mostly wait: so many of
// them at a time, each as soon as there is room.
async function several(many, scenarios) {
    const rest = [ ...scenarios ];
    const one = async () => {
        for (let next; (next = rest.shift()); ) await next();
    };

    await Promise.all(Array.from({ length: many }, one));
}

// the text of an element once it matches
async function shows(page, selector, pattern, name, seconds) {
    const text = async () => (await page.textContent(selector,
                                                     { timeout: 1000 })).trim();
    let last;

    // what it was then: a page that comes again by itself may be gone by now

    await until(async () => pattern.test(last = await text()), seconds);
    return like(last, pattern, name);
}

async function reaches(page, url, name, seconds) {
    await until(() => page.url() === config.site + url, seconds);
    return is(page.url(), config.site + url, name);
}

async function run(scenario) {
    const browser = await chromium.launch({
        executablePath: config.chromium,
        headless: true,
        args: [ "--no-sandbox", "--disable-gpu", "--disable-quic",
                "--no-first-run", "--disable-background-networking",
                "--disable-component-update", "--disable-sync",
                "--disable-dev-shm-usage" ],
        env: { ...process.env, HOME: process.env.TMPDIR },
    });

    try {
        await scenario({ browser, visitor: visitor.bind(null, browser) });

    } catch (error) {
        ok(false, "the scenario", String(error.stack));

    } finally {
        await browser.close();
    }

    out({ done: true });
}

// A browser profile: what it asks for, and what goes wrong, is collected.  It
// polls, unless there is to be a stream.
async function visitor(browser, { user, locale = "en-US", stream = false,
                                  ...options } = {}) {
    const context = await browser.newContext({ locale, ...options });
    const seen = { requests: [], errors: [] };

    context.setDefaultTimeout(60000 * slow);
    context.on("request", request => seen.requests.push(request));
    context.on("weberror", error => seen.errors.push(String(error.error())));
    context.on("console", message => {
        if (/Content.Security.Policy/i.test(message.text())) {
            seen.errors.push(message.text());
        }
    });

    if (!stream) {
        await context.addInitScript(() => { delete window.ReadableStream; });
    }

    if (user) {
        await context.addCookies([ { name: "access_token", url: config.site,
                                     value: config.tokens[user] } ]);
    }

    context.seen = seen;
    context.calls = what => seen.requests.filter(
        request => new URL(request.url()).pathname.includes(what)).length;
    return context;
}

// a call of the queue's API by somebody without a browser
async function api(user, method, call) {
    const response = await fetch(`${config.site}/api/queue/${call}`, {
        method, headers: { Authorization: `Bearer ${config.tokens[user]}` } });
    return response.json();
}

module.exports = { config, ok, is, like, sleep, until, went, several, shows, reaches,
                   run, api };
