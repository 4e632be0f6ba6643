"use strict";

const { config, ok, is, like, sleep, until, shows, run, api }
    = require("./lib.js");

const card = event => `[id="event-${event}"]`;
const room = event => `${card(event)} .tier:nth-of-type(1)`;
const queue = event => `${card(event)} .tier:nth-of-type(2)`;

run(async ({ visitor }) => {
    await signingIn(visitor);
    await theBoard(visitor);
    await waitingRoom(visitor);
    await theBackend(visitor);
    await theQueue(visitor);
    await byKeyboard(visitor);
    await wrongInput(visitor);
    await failures(visitor);
    await hidden(visitor);
    await korean(visitor);
    await manyEvents(visitor);
});


// a call of an operator without a browser; path is below /api
async function operator(method, path, body) {
    const response = await fetch(`${config.site}/api/${path}`, {
        method, body: body && JSON.stringify(body),
        headers: { Authorization: `Bearer ${config.secret}` } });
    return response.json();
}

const look = async event => (await operator("GET", "admin/vwr/status")).events
    .find(one => one.eventId === event);

const assign = event => fetch(`${config.site}/vwr-api/assign/${event}`,
                              { method: "POST" });

async function open(visitor, options = {}, path = "/admin") {
    const context = await visitor({ user: "root", ...options });
    const page = await context.newPage();

    page.complaints = [];
    page.on("pageerror", error => page.complaints.push(String(error)));
    page.on("console", message => {
        if (message.type() === "error" || message.type() === "warning") {
            page.complaints.push(message.text());
        }
    });

    await page.goto(config.site + path);
    return { context, page };
}

// opens the dialog of a switch
async function choose(page, where, label) {
    await page.click(`${where} button:text-is("${label}")`);
    await until(() => page.isVisible("#ask[open]"));
}

const words = page => page.$$eval("#ask-words li",
                                  list => list.map(li => li.textContent)
                                              .join(" | "));

// says yes, and the dialog goes
async function yes(page, name) {
    await page.click("#yes");
    await until(() => page.isHidden("#ask"));
    ok(await page.isHidden("#ask"), name,
       await page.textContent("#ask-error").catch(String));
}

async function focuses(page, what, name) {
    const focused = () => page.evaluate(
        () => document.activeElement.id || document.activeElement.textContent);

    await until(async () => await focused() === what);
    return is(await focused(), what, name);
}


// Who is no operator sees a form; the secret opens the page, and goes again.

async function signingIn(visitor) {
    const context = await visitor();
    const page = await context.newPage();
    const response = await page.goto(config.site + "/admin");

    is(response.status(), 401, "nobody: 401");
    await shows(page, "#signin-title", /^For operators$/, "nobody: a form");
    ok(await page.isHidden("#board"), "nobody: no board");
    is(await page.getAttribute("#login", "href"),
       `${config.site}/login?return=%2Fadmin`, "where to sign in");
    await focuses(page, "secret", "the form has the focus");

    await page.fill("#secret", "not the secret");
    await page.keyboard.press("Enter");
    await shows(page, "#signin-error", /no spaces/, "what cannot be sent");

    await page.fill("#secret", "x".repeat(40));
    await page.keyboard.press("Enter");
    await shows(page, "#signin-error", /^That is not it/, "a wrong secret");
    is(await page.evaluate(() => sessionStorage.length), 0,
       "which is not kept");

    await page.fill("#secret", config.secret);
    await page.keyboard.press("Enter");
    await shows(page, "#headline", /./, "the secret opens the page");
    ok(await until(() => page.isHidden("#signin")), "and the form is gone");
    is(await page.inputValue("#secret"), "", "the secret is not in the page");
    is(await page.evaluate(() => localStorage.length), 0,
       "nor in storage that lasts");

    await focuses(page, "headline", "and the focus is on what it shows");

    await page.reload();
    await shows(page, "#headline", /./, "a reload needs it not again");

    const other = await context.newPage();

    await other.goto(config.site + "/admin");
    await shows(other, "#signin-title", /./, "another tab does");

    await page.click("#out");
    await shows(page, "#signin-title", /./, "signed out");
    is(await page.evaluate(() => sessionStorage.length), 0, "nothing is left");
    is(context.seen.errors.join(), "", "no errors, nothing forbidden");
    await context.close();

    // storage that is full can be read, and forgets what is written

    const full = await open(visitor, { user: "u1" }, "/plain");

    await full.page.evaluate(() => {
        for (let size = 1 << 22, n = 0; size >= 1; size >>= 1) {
            try {
                for ( ;; n++) sessionStorage.setItem(n, "x".repeat(size));
            } catch { }
        }
    });

    await full.page.goto(config.site + "/admin");
    await full.page.fill("#secret", config.secret);
    await full.page.keyboard.press("Enter");
    await shows(full.page, "#headline", /./, "storage full: the secret does");
    await full.context.close();

    const user = await open(visitor, { user: "u1" });

    await shows(user.page, "#signin-text", /not as an operator/,
                "a user: says so");
    await user.context.close();

    // a session that ends while the page is open

    const ended = await open(visitor);

    await shows(ended.page, "#headline", /./, "an operator: at once");
    await ended.context.clearCookies();
    await shows(ended.page, "#signin-title", /./, "a session that ended");
    await ended.context.close();

    // and a secret that is another one since a reload of NGINX

    const stale = await visitor();
    const desk = await stale.newPage();

    await desk.goto(config.site + "/admin");
    await desk.fill("#secret", config.secret);
    await desk.keyboard.press("Enter");
    await shows(desk, "#headline", /./, "a secret");
    await desk.route("**/api/**", route => route.fulfill(
        { status: 403, json: { error: "x", code: "FORBIDDEN" } }));
    await shows(desk, "#signin-error", /^It is no longer valid/,
                "that counts no more");
    await desk.fill("#secret", "x".repeat(40));
    await desk.keyboard.press("Enter");
    await shows(desk, "#signin-error", /^That is not it/,
                "and one that never did");
    await stale.close();
}


async function theBoard(visitor) {
    const { context, page } = await open(visitor,
                                 { viewport: { width: 320, height: 640 } });

    await shows(page, `${card("concert")} h2`, /^Spring Concert$/, "a card");
    is(await page.textContent(`${card("concert")} .sub`),
       "The Band · concert", "artist and id");
    is(await page.textContent(`${card("paused")} h2`), config.hostile,
       "a title is text");
    is(await page.textContent(`${card("paused")} .sub`),
       `${config.hostile} · paused`, "an artist, too");
    is(await page.$$eval("#page img, #page script", list => list.length), 0,
       "whatever it says");

    await shows(page, `${room("fixed")} .lead`, /vwr=off/,
                "vwr=off: says so");
    ok(await page.isHidden(`${room("fixed")} >> text=Activate…`),
       "vwr=off: no switch for it");
    await shows(page, `${room("config")} .facts`, /On by configuration/,
                "vwr=on: says so");
    ok(await page.isHidden(`${room("config")} >> text=Deactivate…`),
       "vwr=on: no switch for it");
    await shows(page, "#headline", /^All is well$/, "all is well");
    await shows(page, "#fresh", /^Live · \d\d:\d\d:\d\d$/, "live");

    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       "320 px: nothing sticks out");
    ok(await page.$$eval("button:not([hidden])", list => list.every(
        button => !button.offsetHeight || button.offsetHeight >= 44)),
       "what is to be touched is large enough");

    await choose(page, room("config"), "Rate…");
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       "320 px: nor does the dialog");
    await page.click("#no");

    // what is wrong is said first

    await api("u9", "POST", "check/paused");
    await shows(page, "#troubles", /queue is paused: 1 person waiting, and the limit is 0/,
                "a queue at 0");
    await shows(page, "#headline", /^Something is paused$/, "the headline");
    ok(await until(async () => /^\(1\) /.test(await page.title())), "the tab's title");
    await shows(page, "#live", /queue is paused/, "read out");
    is(await page.$$eval("#troubles img", list => list.length), 0,
       "its title is text there, too");
    await page.click("#troubles a");
    await until(() => new URL(page.url()).hash);
    is(new URL(page.url()).hash, "#event-paused", "and leads to the event");
    await operator("POST", "queue/admin/clear/paused");
    await shows(page, "#headline", /^All is well$/, "well again");
    await shows(page, "#live", /^All is well again/,
         "which is read out");

    const elsewhere = context.seen.requests.map(request => request.url())
        .filter(url => !url.startsWith(config.site + "/"));

    is(elsewhere.join(), "", "no request to anywhere else");
    is(context.calls("favicon"), 0, "none for an icon");
    is(context.seen.errors.join() + page.complaints.join(), "",
       "the console is clean");
    await context.close();
}


async function waitingRoom(visitor) {
    const { context, page } = await open(visitor);

    // no is no

    await choose(page, room("concert"), "Activate…");
    like(await words(page), /goes to the waiting room.*The rate is 0/,
         "activate: what it does");
    await focuses(page, "no", "activate: No has the focus");
    await page.click("#no");
    ok(await page.isHidden("#ask"), "activate: cancelled");
    is((await look("concert")).activation, 0, "and nothing happened");
    await focuses(page, "Activate…", "the focus is where it was");

    await choose(page, room("concert"), "Activate…");
    await page.keyboard.press("Escape");
    is((await look("concert")).activation, 0, "Escape is no, too");

    await choose(page, room("concert"), "Activate…");
    await yes(page, "activate: yes");
    await shows(page, `${room("concert")} .chip`, /^Paused$/,
                "on, at a rate of 0");
    ok((await look("concert")).isActive, "active");
    await shows(page, "#live", /^Spring Concert: The waiting room is active/,
         "read out");

    for (let i = 0; i < 5; i++) await assign("concert");
    await shows(page, `${room("concert")} .stats`, /^Waiting5/, "five wait");
    await shows(page, "#troubles", /paused: 5 people waiting, and the rate is 0/,
                "which is said");
    is(await page.getAttribute(`${room("concert")} .chart`, "role"), "img",
       "a chart");
    ok(await until(() => page.$eval(`${room("concert")} .chart`,
           chart => chart.dataset.points > 1
                    && /^M[\d.]+,[\d.]+L/.test(
                        chart.querySelector(".line").getAttribute("d")))),
       "the chart has points");

    // advance: the numbers of the dialog go on while it is open

    await choose(page, room("concert"), "Let in more…");
    await focuses(page, "number", "advance: the number has the focus");
    is(await page.inputValue("#number"), "500", "advance: 500");
    like(await words(page), /^5 people of the 5 who wait are let in.* from 0 to 5/,
         "advance: what it does");
    await page.fill("#number", "2");
    like(await words(page), /^2 people of the 5 .* from 0 to 2/,
         "advance: of that number");
    is(await page.textContent("#yes"), "Let in 2", "advance: the button says it");
    await assign("concert");
    await until(async () => /of the 6/.test(await words(page)));
    like(await words(page), /^2 people of the 6 /, "advance: one more came");
    is(await page.inputValue("#number"), "2", "what was typed stays");
    await yes(page, "advance: yes");
    await until(async () => (await look("concert")).servingCounter === 2);
    is((await look("concert")).servingCounter, 2, "two are let in");
    await shows(page, `${room("concert")} .facts`, /Number 2 of 6/, "it shows");

    // the rate

    await choose(page, room("concert"), "Rate…");
    await page.fill("#number", "1,000");
    like(await words(page), /^The waiting room lets 1,000 people a second in; now it is 0\. \| The 4 who wait are in after about 1 s/,
         "rate: what it does");
    await yes(page, "rate: yes");
    is((await look("concert")).rate, 1000, "the rate is set");
    await shows(page, `${room("concert")} .stats`, /^Waiting0/, "all are in");
    await shows(page, `${room("concert")} .facts`,
                /Rate 1,000 a second \(configured: 0\)/, "rate: it shows");

    await choose(page, room("concert"), "Rate…");
    await page.check("#configured");
    ok(await page.isDisabled("#number"), "as configured: no number");
    like(await words(page), /lets 0 people .*Nobody is let in/,
         "as configured: what it does");
    await yes(page, "as configured: yes");
    is((await look("concert")).rate, 0, "the rate of the configuration");

    // off, and on again where it was

    for (let i = 0; i < 3; i++) await assign("concert");
    await shows(page, `${room("concert")} .stats`, /^Waiting3/, "three wait");
    await choose(page, room("concert"), "Deactivate…");
    like(await words(page), /^All who wait go straight on to the site at once: 3 people/,
         "deactivate: what it does");
    await yes(page, "deactivate: yes");
    ok(!(await look("concert")).isActive, "inactive");
    await shows(page, `${room("concert")} .lead`, /3 people had a number/,
                "off: says so");

    const { activation } = await look("concert");

    await choose(page, room("concert"), "Resume…");
    like(await words(page), /of 9 numbers given out 6 have been let in, and 3 people wait again/,
         "resume: what it does");
    await yes(page, "resume: yes");
    is((await look("concert")).activation, activation, "the same activation");
    ok((await look("concert")).isActive, "active again");

    // somebody else was quicker

    await choose(page, room("concert"), "Deactivate…");
    await yes(page, "off");
    await choose(page, room("concert"), "Activate…");
    like(await words(page), /the 9 numbers given out before count no more/,
         "activate anew: what it does");
    await operator("POST", "admin/vwr/activate/concert?resume=1");
    await page.click("#yes");
    await shows(page, "#ask-error", /active already/, "409: in words");
    ok(await page.isVisible("#ask"), "and the dialog stays");
    is((await look("concert")).activation, activation, "nothing happened");
    await page.click("#no");
    await operator("POST", "admin/vwr/deactivate/concert");

    // the charts outlast the page

    const before = await page.$eval(`${queue("concert")} .chart`,
                                    chart => Number(chart.dataset.points));

    await page.reload();
    ok(await until(() => page.$eval(`${queue("concert")} .chart`,
           (chart, n) => chart.dataset.points >= n, before)),
       "a reload keeps the charts");
    ok(await page.evaluate(() => JSON.stringify(sessionStorage).length < 2e6),
       "in bounds");
    is(context.seen.errors.join(), "", "no errors");
    await context.close();
}


// What follows the backend, with 15 minutes that were before the page, and hold.

async function theBackend(visitor) {
    const { context, page } = await open(visitor);
    const backend = `${card("config")} .backend`;
    const at = Math.floor(Date.now() / 10000) * 10;
    let shown = null;

    await shows(page, `${backend} .chip`, /^(Not known|Nothing limits)$/, "a backend: followed");
    ok(await page.isHidden(`${card("concert")} .backend`), "but not all are");

    await page.route("**/status?*", async route => {
        const response = await route.fetch();
        const json = await response.json();
        for (const event of json.events) {
            if (event.eventId === "config") Object.assign(event, shown);
        }
        return route.fulfill({ response, json });
    });
    await page.route("**/backend/config", route => route.fulfill({ json: {
        eventId: "config", step: 10, points: [
            [ at - 600, 100, 0, 50, null, null, null ],
            [ at - 10, 812, 75, 82, 500, 430, "latency" ] ] } }));
    shown = { rate: 4, effectiveRate: 1, effectiveThreshold: 1, limitedBy: "latency",
              comePercent: 62, backend: {
                  follow: "on", latency: 812, maxLatency: 500, requests: 412,
                  counted: 400, failed: 3, maxErrors: null, rate: 500,
                  threshold: 1, limitedBy: "latency", pause: 0, age: 0 } };
    await page.reload();

    await shows(page, `${backend} .chip`, /^Limited: too slow$/, "what limits");
    await shows(page, `${backend} .stats`, /812 ms of 500 ms.*0\.75 %.*0\.5 of 4.*1 of 2/,
                "measured, and in force");
    await shows(page, `${room("config")} .facts`, /, 1 in force.*62 % of those called come/,
                "in the waiting room");
    await shows(page, `${queue("config")} .facts`, /, 1 in force/, "in the queue");
    await shows(page, "#troubles", /Fewer are let in than is set: its backend is too slow/,
                "at the top");
    ok(await until(() => page.$eval(`${backend} .chart`,
                                    chart => chart.dataset.points === "2")),
       "a chart of before the page was opened");
    like(await page.getAttribute(`${backend} .chart`, "aria-label"),
         /at most 812/, "which says so");
    await page.click(`${backend} summary`);
    await shows(page, `${backend} table`, /812 ms0\.75 %820\.5430Limited: too slow/,
                "and a table");
    await page.unrouteAll({ behavior: "wait" });

    // hold

    const word = `${card("concert")} .word`;

    await choose(page, word, "Hold…");
    like(await words(page), /Nobody is let in.*go(es)? on/, "hold: what it does");
    await page.check("#inside");
    like(await words(page), /stopped at their next page/, "hold: inside too");
    await yes(page, "hold: yes");
    await shows(page, `${word} .held`, /those inside are stopped too/, "held");
    await shows(page, `${queue("concert")} .chip`, /^Held$/, "in the queue");
    is((await look("concert")).hold, "inside", "as was asked");
    await shows(page, "#troubles", /It is held/, "at the top, too");

    await choose(page, word, "Let go…");
    await yes(page, "let go: yes");
    await shows(page, `${queue("concert")} .chip`, /^(?!Held)/, "let go");
    is((await look("concert")).hold, undefined, "held no more");
    is(context.seen.errors.join() + page.complaints.join(), "",
       "the console is clean");
    await context.close();
}


async function theQueue(visitor) {
    for (const user of [ "u1", "u2", "u3", "u4", "u5" ]) {
        await api(user, "POST", "check/concert");
    }

    const { context, page } = await open(visitor);

    await shows(page, `${queue("concert")} .stats`, /^Waiting3.*Inside2 of 2/,
                "the queue");
    is(await page.textContent(`${queue("concert")} .chip`), "Full", "full");

    await choose(page, queue("concert"), "Limit…");
    is(await page.inputValue("#number"), "2", "limit: as it is");
    await page.fill("#number", "1");
    like(await words(page), /Nobody is put out: that is 1 over the limit/,
         "limit: below who is in");
    await page.fill("#number", "0");
    like(await words(page), /pauses the queue: nobody is let in, and all who wait keep their places, 3 people/,
         "limit: 0");
    await page.fill("#number", "3");
    like(await words(page), /At most 3 people .*now it is 2, and 2 are inside\. \| 1 person of the 3 who wait is let in/,
         "limit: one more");
    await page.click("#no");
    is((await look("concert")).threshold, 2, "limit: cancelled");

    await choose(page, queue("concert"), "Limit…");
    await page.fill("#number", "3");
    await yes(page, "limit: yes");
    await shows(page, `${queue("concert")} .stats`, /^Waiting2.*Inside3 of 3/,
                "one more is in");
    await shows(page, `${queue("concert")} .facts`,
                /Limit 3 \(configured: 2\)3 let in so far/, "limit: it shows");

    await choose(page, queue("concert"), "Limit…");
    await page.check("#configured");
    await yes(page, "limit: as configured");
    is((await look("concert")).threshold, 2, "the configuration's");
    await shows(page, `${queue("concert")} .chip`, /^Over the limit$/,
                "more are in than may be");

    await choose(page, queue("concert"), "Clear…");
    like(await words(page), /^2 people waiting lose their place\. \| 3 people inside are put out, and all entry tokens/,
         "clear: what it does");
    await focuses(page, "no", "clear: No has the focus");
    await page.keyboard.press("Enter");
    await until(() => page.isHidden("#ask"));
    is((await look("concert")).queueSize, 2, "clear: Enter alone does nothing");

    await choose(page, queue("concert"), "Clear…");
    await yes(page, "clear: yes");
    await shows(page, `${queue("concert")} .stats`, /^Waiting0.*Inside0 of 2/,
                "cleared");
    is((await api("u1", "GET", "status/concert")).status, "not_in_queue",
       "for its users, too");
    is(context.seen.errors.join() + page.complaints.join(), "",
       "the console is clean");
    await context.close();

    // the queue's calls are elsewhere

    const wrong = await open(visitor, {}, "/admin-wrong");

    await choose(wrong.page, queue("concert"), "Clear…");
    await wrong.page.click("#yes");
    await shows(wrong.page, "#ask-error", /no such call at \/nowhere\/clear\/concert.*queue=/,
                "a wrong queue=: says so");
    await wrong.context.close();
}


// From the top of the page to a limit that is set, without a mouse.

async function byKeyboard(visitor) {
    const { context, page } = await open(visitor);
    const ring = () => page.evaluate(() => {
        const style = getComputedStyle(document.activeElement);
        return style.outlineStyle !== "none" && parseFloat(style.outlineWidth) >= 2;
    });

    await shows(page, `${queue("concert")} .chip`, /./, "keyboard: the board");

    const wanted = await page.$(`${queue("concert")} button:text-is("Limit…")`);
    let steps = 0;
    let seen = true;

    while (steps++ < 60
           && !await wanted.evaluate(one => one === document.activeElement))
    {
        await page.keyboard.press("Tab");
        seen = seen && await ring();
    }

    await focuses(page, "Limit…", "keyboard: Tab gets there");
    ok(seen, "keyboard: where one is can be seen");

    await page.keyboard.press("Enter");
    await until(() => page.isVisible("#ask[open]"));
    await page.keyboard.type("4");

    // the dialog keeps the focus

    const visited = new Set();

    for (let i = 0; i < 8; i++) {
        await page.keyboard.press("Tab");
        visited.add(await page.evaluate(() =>
            document.activeElement === document.body ? "body"
            : document.activeElement.closest("#ask") ? document.activeElement.id
            : "outside"));
    }

    ok(!visited.has("outside") && visited.has("yes") && visited.has("no"),
       "keyboard: the dialog keeps the focus", [ ...visited ].join());

    await page.focus("#number");
    await page.keyboard.press("Enter");
    await until(() => page.isHidden("#ask"));
    is((await look("concert")).threshold, 4, "keyboard: the limit is set");
    await focuses(page, "Limit…", "keyboard: back at the switch");
    await operator("DELETE", "queue/admin/threshold/concert");
    await context.close();
}


async function wrongInput(visitor) {
    const { context, page } = await open(visitor);

    await shows(page, `${queue("concert")} .chip`, /./, "the board");

    const before = context.calls("/threshold/");

    await choose(page, queue("concert"), "Limit…");

    for (const text of [ "", "x", "-1", "1.5", "1e3", "10000001" ]) {
        await page.fill("#number", text);
        await page.click("#yes");
        like(await page.textContent("#ask-error"),
             /whole number from 0 to 10,000,000/, `limit "${text}": refused`);
    }

    is(await page.getAttribute("#number", "aria-invalid"), "true",
       "and marked");
    is(context.calls("/threshold/"), before, "nothing was sent");
    await page.fill("#number", "5");
    ok(await page.isHidden("#ask-error"), "a right one: no error");
    await page.click("#no");
    await context.close();
}


async function failures(visitor) {
    const { context, page } = await open(visitor);
    let answer;
    let calls = [];

    await shows(page, "#fresh", /^Live/, "live");

    await page.route("**/api/**", route => {
        calls.push(Date.now());
        return answer === "abort" ? route.abort()
             : typeof answer === "function" ? answer(route)
             : answer ? route.fulfill(answer) : route.continue();
    });

    // the board

    answer = "abort";
    await shows(page, "#headline", /^Something is wrong$/, "no answer: says so");
    await shows(page, "#troubles", /does not answer\. The numbers below are old/,
                "no answer: in words");
    await shows(page, "#fresh", /^Old: of \d\d:\d\d:\d\d · next try in \d+ s/,
                "no answer: how old, and what next");
    like(await page.getAttribute("body", "class"), /stale/,
         "no answer: the numbers are marked");
    ok(await page.isVisible(`${queue("concert")} .stats`),
       "no answer: the numbers stay");

    calls = [];
    await until(() => calls.length > 1, 120);
    ok(calls[1] - calls[0] >= 4000, "no answer: asks less and less",
       calls.join());

    answer = null;
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await shows(page, "#fresh", /^Live/, "online again: at once");
    await shows(page, "#headline", /^All is well$/, "and all is well");

    answer = { status: 503, json: { error: "x", code: "UNAVAILABLE",
                                    retryAfter: 1 } };
    await shows(page, "#troubles", /Redis did not answer in time/, "an answer of 503");
    answer = { status: 200, contentType: "text/html", body: "<p>Hello" };
    await shows(page, "#troubles", /The site answered 200/,
                "an answer that is none");
    answer = null;
    await page.evaluate(() => dispatchEvent(new Event("online")));
    await shows(page, "#fresh", /^Live/, "live again");

    // Redis is away, the site is not

    answer = async route => {
        const response = await route.fetch();
        const json = await response.json();
        if (json.events) json.age = 77;
        return route.fulfill({ response, json });
    };
    await shows(page, "#troubles", /Redis has not answered for 77 seconds.*numbers below are old/,
                "Redis away: says so");
    await shows(page, "#fresh", /^Old numbers$/, "Redis away: old");
    answer = null;
    await shows(page, "#headline", /^All is well$/, "Redis back");

    // what stands still, what is lost

    answer = async route => {
        const response = await route.fetch();
        const json = await response.json();
        for (const event of json.events || []) {
            if (event.eventId === "concert") {
                Object.assign(event, { isActive: true, waiting: 1204, rate: 50,
                                       servingCounter: 7, restoring: 42 });
            }
        }
        return route.fulfill({ response, json });
    };
    await shows(page, "#troubles", /Redis lost data.*42 seconds more/,
                "restoring: says so");
    await shows(page, "#troubles", /stands still: 1,204 people waiting, and the counter has not moved for \d+ seconds/,
                "a counter that stands still");
    answer = null;

    // the switches

    await choose(page, queue("concert"), "Clear…");

    for (const [ status, code, pattern ] of [
        [ 503, "UNAVAILABLE", /Redis did not answer.*may have happened/ ],
        [ 409, "SET_BY_CONFIG", /configuration decides/ ],
        [ 404, "UNKNOWN_EVENT", /no such event/ ],
        [ 403, "CROSS_SITE", /another site/ ],
        [ 429, "RATE_LIMITED", /Try again in 7 seconds/ ],
        [ 500, "X", /The site answered 500: x/ ] ])
    {
        answer = route => route.request().method() === "POST"
            ? route.fulfill({ status, json: { error: "x", code, retryAfter: 7 } })
            : route.continue();
        await page.click("#yes");
        await shows(page, "#ask-error", pattern, `${code}: in words`);
    }

    answer = route => route.request().method() === "POST" ? route.abort()
                                                          : route.continue();
    await page.click("#yes");
    await shows(page, "#ask-error", /No answer.*may have happened/,
                "no answer: in words");
    ok(await page.isEnabled("#yes"), "and it can be tried again");
    await page.keyboard.press("Escape");
    is(context.seen.errors.join(), "", "no errors");
    await context.close();
}


async function hidden(visitor) {
    const { context, page } = await open(visitor);

    await page.addInitScript(() => {
        let away = false;
        Object.defineProperty(document, "hidden", { get: () => away });
        window.hide = value => {
            away = value;
            document.dispatchEvent(new Event("visibilitychange"));
        };
    });
    await page.reload();
    await shows(page, "#fresh", /^Live/, "live");

    await page.evaluate(() => { hide(true); });
    await sleep(1.5);

    let before = context.calls("/status");

    await sleep(2.5);
    is(context.calls("/status"), before, "hidden: it asks nothing");

    await page.evaluate(() => { hide(false); });
    ok(await until(() => context.calls("/status") > before),
       "seen again: it asks");
    await context.close();
}


async function korean(visitor) {
    const { context, page } = await open(visitor, { locale: "ko-KR",
                                                    colorScheme: "dark" });

    await shows(page, "#heading", /^입장 관리$/, "Korean: the heading");
    await shows(page, "#headline", /^이상 없음$/, "Korean: all is well");
    is(await page.evaluate(() => document.documentElement.lang), "ko",
       "Korean: the language");
    await choose(page, queue("concert"), "비우기…");
    like(await words(page), /^기다리는 0명이 순번을 잃습니다/, "Korean: a dialog");
    is(await page.textContent("#no"), "취소", "Korean: no");
    await page.click("#no");

    // nothing is left in English

    const english = await page.evaluate(() => [ ...document.querySelectorAll(
            "#page button, #page dt, #page h3, #page .chip, #page .span, "
            + "#page .facts, #page .lead, #sums, #fresh, #headline") ]
        .map(element => element.textContent)
        .filter(text => /[A-Za-z]{2}/.test(text.replace(/vwr=\w+/g, ""))));

    is(english.join(" | "), "", "Korean: all of it");
    is(context.seen.errors.join(), "", "no errors");
    await context.close();
}


async function manyEvents(visitor) {
    for (let i = 0; i < 60; i++) {
        // a user is in at most 4 that no operator named
        await operator("PUT", `queue/admin/threshold/many-${i}?threshold=2`);
        await api("u8", "POST", `check/many-${i}`);
    }

    const { context, page } = await open(visitor);

    await shows(page, "#shown", /^50 of 64, the busiest$/, "the busiest");
    is(await page.$$eval(".event", list => list.length), 50, "50 of them");

    await shows(page, "#sums", /^50 of 64 events/, "the sums are of those");
    await shows(page, "#headline", /^Nothing wrong with those shown$/,
                "and so is the headline");

    // what is kept of the events goes on while one of them is looked for, and
    // nobody is told that all is well

    const kept = () => page.evaluate(() => JSON.parse(
        sessionStorage.getItem("admission:admin:history")).map(([id]) => id));

    await operator("PUT", "queue/admin/threshold/many-1?threshold=0");
    await api("u7", "POST", "check/many-1");
    await shows(page, "#troubles", /^many-1 .*is paused/, "one is paused");
    await until(async () => (await kept()).includes("concert"));

    await page.fill("#find", "many-59");
    await until(async () => await page.$$eval(".event", list => list.length) === 1);
    is(await page.textContent(".event h2"), "many-59", "one is found");
    await shows(page, "#headline", /^Nothing wrong with those shown$/,
                "which is well");
    ok(!/All is well/.test(await page.textContent("#live")),
       "nobody is told that all is");
    await sleep(6);
    ok(await until(async () => (await kept()).includes("many-59")),
       "the chart of this one is kept");
    is((await kept()).length, 40, "and of the others");
    await page.fill("#find", "BAND");
    await shows(page, ".event h2", /^Spring Concert$/, "by its artist");
    await page.fill("#find", "nothing of the kind");
    await shows(page, "#shown", /^No event has that/, "none is found");
    await page.fill("#find", "");
    await until(async () => await page.$$eval(".event", list => list.length) === 50);
    is(await page.$$eval(".event", list => list.length), 50, "all again");
    await operator("DELETE", "queue/admin/threshold/many-1");
    ok(await page.evaluate(() => JSON.parse(
           sessionStorage.getItem("admission:admin:history")).length <= 40),
       "the history is bounded");
    is(context.seen.errors.join() + page.complaints.join(), "",
       "the console is clean");
    await context.close();
}
