"use strict";

const { config, ok, is, like, sleep, until, several, shows, reaches, run, api }
    = require("./lib.js");

const seats = event => `/seats/${event}?row=1&name=a%20b%26c`;
const queue = event =>
    `/queue/${event}?return=` + encodeURIComponent(seats(event));

run(async ({ visitor }) => {
    await several(3, [
        failures, visit, waking, korean, signIn, leaving, ends,
    ].map(scenario => () => scenario(visitor)));
});


async function fill(event, ...users) {
    for (const user of users) {
        await api(user, "POST", `check/${event}`);
    }
}


// First visit, reload, second tab, the turn.

async function visit(visitor) {
    await fill("first", "ann", "ben", "dan");

    const context = await visitor({ user: "cho",
                                    viewport: { width: 320, height: 640 } });
    const page = await context.newPage();

    await page.goto(config.site + seats("first"));
    is(page.url(), config.site + queue("first"), "the gate sends to the page");

    await shows(page, "#number", /^2$/, "the position");
    is(await page.textContent("#title"), "Spring Concert", "the title");
    is(await page.textContent("#artist"), "The Band", "the artist");
    await shows(page, "#facts", /Ahead of you1Behind you0Inside now2 of 2/,
                "ahead, behind, inside");
    await shows(page, "#wait", /^Estimated wait: less than a minute$/,
                "the wait, in words");
    is(await page.title(), "2 – Spring Concert", "the tab's title");
    like(await page.textContent("#live"), /^Your place in line: 2\. Estimated/,
         "what is read out");
    is(await page.evaluate(() => document.documentElement.lang), "en",
       "the language");
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       "320 px: nothing sticks out");

    await page.reload();
    await shows(page, "#number", /^2$/, "a reload keeps the place");

    const second = await context.newPage();

    await second.goto(config.site + queue("first"));
    await shows(second, "#number", /^2$/, "a second tab has the same place");
    is((await api("dan", "GET", "status/first")).queueSize, 2,
       "two are waiting, not three");

    // It asks before leaving, once the user has touched it.  Nothing else is
    // done to this tab until its turn: Chromium may drop a navigation that
    // begins while the answer to such a question is on its way.

    await second.mouse.click(5, 5);

    const asked = second.waitForEvent("dialog");
    second.close({ runBeforeUnload: true }).catch(() => { });

    const dialog = await asked;
    is(dialog.type(), "beforeunload", "it asks before leaving");
    await dialog.dismiss();
    await shows(second, "#number", /^2$/, "and stays if told so");

    // dan goes in, then it is cho's turn

    await api("ann", "POST", "leave/first");
    await shows(page, "#number", /^1$/, "the position falls");
    like(await page.getAttribute("#track", "aria-valuenow"), /^50$/,
         "and the bar moves");

    await api("ben", "POST", "leave/first");
    await reaches(page, seats("first"), "the turn: to the deep link");
    await reaches(second, seats("first"), "the second tab as well");

    // nothing but this site's calls, and nothing that the policy forbids

    const elsewhere = context.seen.requests.map(request => request.url())
        .filter(url => !url.startsWith(config.site + "/"));

    is(elsewhere.join(), "", "no request to anywhere else");
    is(context.calls("favicon"), 0, "none for an icon");
    is(context.seen.errors.join(), "", "no errors, nothing forbidden");

    await context.close();
}


async function korean(visitor) {
    await fill("hangul", "ann", "ben");

    const context = await visitor({ user: "cho", locale: "ko-KR" });
    const page = await context.newPage();

    await page.goto(config.site + queue("hangul"));
    await shows(page, "#number", /^1번째$/, "Korean: the position");
    await shows(page, "#label", /^내 순번$/, "Korean: the label");
    await shows(page, "#facts", /내 앞0명내 뒤0명현재 입장2 \/ 2명/,
                "Korean: the rest");
    is(await page.evaluate(() => document.documentElement.lang), "ko",
       "Korean: the language");

    await context.close();
}


async function signIn(visitor) {
    const context = await visitor();

    await context.addCookies([ { name: "offer", url: config.site,
                                 value: config.tokens.cho } ]);

    const page = await context.newPage();

    await page.goto(config.site + queue("in"));
    await until(() => page.url() === config.site + seats("in"));

    const login = context.seen.requests.map(request => request.url())
                  .find(url => url.includes("/login"));

    is(login, `${config.site}/login?from=queue&return=`
              + encodeURIComponent(queue("in")), "401: to sign in");
    is(page.url(), config.site + seats("in"), "and back, and on");

    // no place to sign in at

    const stranger = await visitor();
    const other = await stranger.newPage();

    await other.goto(config.site + queue("nowhere"));
    await shows(other, "#number", /^Please sign in$/, "401: says so");

    await context.close();
    await stranger.close();
}


async function failures(visitor) {
    await fill("failing", "ann", "ben");

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();

    // before there is a place

    let answer = { status: 503, headers: { "Retry-After": "2" },
                   json: { error: "x", code: "UNAVAILABLE", retryAfter: 2 } };
    let calls = [];

    await page.route("**/api/queue/**", route => {
        calls.push(Date.now());
        return answer === "abort" ? route.abort()
             : answer ? route.fulfill(answer) : route.continue();
    });

    await page.goto(config.site + queue("failing"));
    await shows(page, "#note", /busy.*keep this page open.*Next try in [2-4] s/,
                "503: says so, and promises nothing");
    is((await api("ann", "GET", "status/failing")).currentUsers, 2,
       "(the queue is there)");

    await until(() => calls.length > 1);
    ok(calls[1] - calls[0] >= 2000, "503: Retry-After is honoured",
       calls.join());

    answer = null;
    await shows(page, "#number", /^1$/, "503: then it joins");
    await until(() => page.isHidden("#note"));
    ok(await page.isHidden("#note"), "and the note goes");

    answer = { status: 429, headers: { "Retry-After": "3" },
               json: { error: "x", code: "RATE_LIMITED", retryAfter: 3 } };
    await shows(page, "#note", /busy.*Your place is kept/, "429: says so");

    // from the call that was told so, which is noticed when it is

    const told = calls.length;

    await page.evaluate(() => {
        document.dispatchEvent(new Event("visibilitychange"));
    });
    await until(() => calls.length > told);
    ok(calls[told] - calls[told - 1] >= 3000,
       "429: Retry-After goes before all else", calls.join());
    is(await page.textContent("#number"), "1", "429: the place is still shown");

    answer = null;
    await until(() => page.isHidden("#note"));

    await context.setOffline(true);
    await shows(page, "#note", /^Connection lost\. Your place is kept/,
                "offline: says so");
    like(await page.getAttribute("body", "class"), /stale/,
         "offline: the numbers are marked as old");

    await context.setOffline(false);
    await until(() => page.isHidden("#note"));
    ok(await page.isHidden("#note"), "online again: goes on");
    is(await page.textContent("#number"), "1", "with the same place");

    // what a captive portal answers

    answer = { status: 200, contentType: "text/html", body: "<p>Hello" };
    await shows(page, "#note", /^Connection lost/, "an answer that is none");
    answer = null;

    await api("ben", "POST", "leave/failing");
    await reaches(page, seats("failing"), "and the turn comes");
    is(context.seen.errors.join(), "", "no errors");

    await context.close();
}


// Sleep, a background tab, and history, as far as a page sees of them.  Who joined
// asks first at any moment until it is told to, here in the middle, and then no
// earlier than that.

async function waking(visitor) {
    await fill("waking", "ann", "ben");

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();
    let slowly = 60;

    await page.addInitScript(() => {
        let hidden = false;
        Object.defineProperty(document, "hidden", { get: () => hidden });
        window.hide = value => {
            hidden = value;
            document.dispatchEvent(new Event("visibilitychange"));
        };

        const set = window.setTimeout;

        Math.random = () => .5;
        window.timers = [];
        window.setTimeout = (what, ms, ...rest) => {
            window.timers.push(Math.round(ms / 1000));
            return set(what, ms, ...rest);
        };
    });

    const timer = async seconds => until(() => page.evaluate(
        value => window.timers.includes(value), seconds));

    await page.route("**/api/queue/**", async route => {
        const response = await route.fetch();
        const json = await response.json();
        if (slowly) json.nextPoll = slowly;
        return route.fulfill({ response, json });
    });

    await page.goto(config.site + queue("waking"));
    await shows(page, "#number", /^1$/, "nextPoll 60: waits");
    ok(await timer(33), "who joined asks the first time at any moment until then");

    let before = context.calls("/api/queue/");

    await sleep(2);
    is(context.calls("/api/queue/"), before, "nextPoll is honoured");

    await page.evaluate(() => { hide(true); });
    await sleep(.5);
    is(context.calls("/api/queue/"), before, "going away asks nothing");

    await page.evaluate(() => {
        window.timers = [];
        hide(false);
    });
    await until(() => context.calls("/api/queue/") > before);
    is(context.calls("/api/queue/"), before + 1, "coming back asks at once");
    ok(await timer(66), "and then not before it is told to");

    before++;
    await sleep(1.5);
    await page.evaluate(() => {
        dispatchEvent(new PageTransitionEvent("pageshow", { persisted: true }));
    });
    await until(() => context.calls("/api/queue/") > before);
    is(context.calls("/api/queue/"), before + 1, "so does history");

    // the turn, while nobody looks

    slowly = 1;
    await sleep(1.5);
    await page.evaluate(() => { hide(false); hide(true); });
    await api("ann", "POST", "leave/waking");

    await until(async () => /turn/.test(await page.title()));
    is(await page.title(), "It is your turn – Spring Concert",
       "the turn is in the tab's title");
    is(page.url(), config.site + queue("waking"), "and the page stays");

    await sleep(1.1);
    await page.evaluate(() => { hide(false); });
    await reaches(page, seats("waking"), "until somebody looks");

    await context.close();
}


async function leaving(visitor) {
    await fill("leaving", "ann", "ben");

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();
    const second = await context.newPage();

    await page.goto(config.site + "/queue/leaving");
    await shows(page, "#number", /^1$/, "waits");
    await second.goto(config.site + "/queue/leaving");
    await shows(second, "#number", /^1$/, "and in a second tab");

    page.once("dialog", dialog => dialog.dismiss());
    await page.click("#leave");
    await sleep(.5);
    is((await api("ann", "GET", "status/leaving")).currentUsers, 2, "(two)");
    is(await page.textContent("#number"), "1", "no: still there");

    // both tabs hear that they are not in line before the one that left hears
    // that it did: neither joins again

    let held = 0;

    await page.route("**/leave/*", async route => {
        const answer = await route.fetch();
        const told = context.calls("/status/");
        await until(() => context.calls("/status/") > told + 3);
        held = context.calls("/check/");
        await route.fulfill({ response: answer });
    });

    const before = context.calls("/check/");

    page.once("dialog", dialog => dialog.accept());
    await page.click("#leave");
    await shows(page, "#number", /^You have left the line$/, "left");
    is(held, before, "nobody joined meanwhile");
    await shows(second, "#number", /^You have left the line$/,
                "the second tab knows");
    is((await api("cho", "GET", "status/leaving")).status, "not_in_queue",
       "and so does the queue");

    await page.click("#go");
    await shows(page, "#number", /^1$/, "joins again");

    await context.close();
}


async function ends(visitor) {
    const context = await visitor({ user: "cho" });
    const page = await context.newPage();

    await page.goto(config.site + "/queue/own");
    await reaches(page, "/plain?e=own", "no return: next");

    for (const hostile of [ "//evil.example/", "/\\evil.example",
                            "https://evil.example/", "javascript:alert(1)",
                            "/\t/evil.example", "/queue/own?return=/x" ])
    {
        await page.goto(`${config.site}/queue/own?return=`
                        + encodeURIComponent(hostile));
        await reaches(page, "/plain?e=own",
                      `not to ${JSON.stringify(hostile)}`);
        await page.evaluate(() => { sessionStorage.clear(); }).catch(() => { });
    }

    await page.goto(config.site + "/queue/in-loop?return=/loop");
    await shows(page, "#number", /^Please continue by hand$/,
                "pages that lead to each other: it stops");

    await page.goto(config.site + "/queue/a%20b");
    await shows(page, "#number", /^There is no such sale$/, "no event id");

    await page.goto(config.site + "/queue/paused");
    await shows(page, "#wait", /^Entry is paused at the moment$/, "paused");
    await shows(page, "#title", /^Spring Concert$/, "paused: the title");

    await context.close();
}
