// A page is shown whatever policies there are; where its script or style is kept
// from running it still says what it is and leads on; and nothing that goes
// wrong while it draws ends its polling.

"use strict";

const { config, ok, is, like, until, several, shows, reaches, run, api }
    = require("./lib.js");

const LONG = 120;   // s: a page may take its time where the machine does

run(async ({ visitor }) => {
    await several(3, [
        () => onePolicy(visitor),
        () => keptFromRunning(visitor, "front", config.front),
        () => keptFromRunning(visitor, "cut", config.cut),
        () => onward(visitor, "old", old),
        () => onward(visitor, "torn", torn),
    ]);
});


async function admin(path, body) {
    const response = await fetch(`${config.site}/api/admin/vwr/${path}`, {
        method: "POST", body: body && JSON.stringify(body),
        headers: { Authorization: `Bearer ${config.tokens.admin}` } });
    return response.json();
}

// who counts as ahead is who is heard of

const there = [];

setInterval(() => there.forEach(({ event, requestId, visitor }) => {
    fetch(`${config.site}/vwr-api/check/${event}/${requestId}?away=1`,
          { headers: { "x-admission-visitor": visitor } }).catch(() => { });
}), 1000).unref();

async function assign(event) {
    const response = await fetch(`${config.site}/vwr-api/assign/${event}`,
                                 { method: "POST" });
    there.push({ event, ...await response.json() });
}


async function onePolicy(visitor) {
    await admin("activate/policy");
    await assign("policy");
    await api("ann", "POST", "check/policy");

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();

    await page.goto(config.site + "/vwr/policy");
    await shows(page, "#facts", /^Your number2/, "a policy: the waiting room",
                LONG);
    is(await page.evaluate(() => getComputedStyle(document.body).display),
       "flex", "a policy: with its style");
    ok(await page.isHidden("#plain"), "a policy: the other way is not shown");

    await page.goto(config.site + "/queue/policy");
    await shows(page, "#number", /^1$/, "a policy: the queue", LONG);
    ok(await page.isHidden("#plain"), "a policy: and nothing else");

    await page.goto(config.site + "/admin");
    await until(() => page.isVisible("#signin"), LONG);
    ok(await page.isVisible("#signin"), "a policy: the operators' page");
    ok(await page.isHidden("#plain"), "a policy: and nothing else");
    is(context.seen.errors.join(), "", "a policy: nothing forbidden");

    await context.close();
}


async function keptFromRunning(visitor, event, site) {
    await admin(`activate/${event}`);
    await assign(event);

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();
    const visible = what => page.isVisible(what);

    await page.goto(`${site}/vwr/${event}?return=/in/${event}`);
    await until(() => visible("#plain"), LONG);
    ok(await visible("#plain"), `${event}: the waiting room says what it is`);
    like(await page.textContent("#plain"), /Waiting room.*대기실.*Spring Concert/s,
         `${event}: by its name`);
    ok(!await visible("#main"), `${event}: and shows no empty frame`);

    // a page that can't run its script has no other way than to be told

    await page.click("#plain a");
    await shows(page, ".number", /^1$/, `${event}: the way without script`, LONG);

    // it comes again by itself: between two documents there is none to look at

    is(await until(() => page.$$eval("main section > div",
                       all => all.filter(one => one.offsetParent).length), LONG),
       1, `${event}: where one state is shown, not all`);

    await admin(`advance/${event}`, { batchSize: 2 });
    await until(() => page.url() === `${site}/in/${event}`, LONG);
    is(page.url(), `${site}/in/${event}`, `${event}: and in`);

    await page.goto(`${site}/queue/${event}`);
    await until(() => visible("#plain"), LONG);
    like(await page.innerText("#plain"), /Queue.*JavaScript/s,
         `${event}: the queue says what it is, and what it needs`);

    await page.goto(`${site}/admin`);
    await until(() => visible("#plain"), LONG);
    like(await page.innerText("#plain"), /needs JavaScript/,
         `${event}: the operators' page as well`);

    await context.close();
}


// What browsers of 2019 do not have, but for what Playwright needs in the page.

function old() {
    for (const [ of, ...names ] of [
        [ Element.prototype, "replaceChildren", "checkVisibility" ],
        [ Document.prototype, "replaceChildren", "prerendering" ],
        [ DocumentFragment.prototype, "replaceChildren" ],
        [ Array.prototype, "at", "flat", "flatMap", "findLast", "toSorted" ],
        [ String.prototype, "at", "replaceAll", "matchAll", "trimStart" ],
        [ Object, "fromEntries", "hasOwn", "groupBy" ],
        [ Promise, "allSettled", "any", "withResolvers" ],
        [ AbortSignal, "timeout", "any" ],
        [ Navigator.prototype, "locks", "userActivation", "wakeLock" ],
        [ Crypto.prototype, "randomUUID" ],
        [ Intl, "ListFormat", "RelativeTimeFormat", "DisplayNames" ],
        [ HTMLDialogElement.prototype, "showModal", "close" ],
        [ window, "structuredClone", "queueMicrotask", "WeakRef",
                  "BroadcastChannel", "navigation", "scheduler", "AudioContext",
                  "Notification", "requestIdleCallback" ],
    ]) for (const name of names) delete of[name];
}


// Whatever draws fails, from some time on.

function torn() {
    const tear = (of, name) => {
        const had = Object.getOwnPropertyDescriptor(of, name);
        const fail = function (...values) {
            if (window.tearing) throw new Error(`no ${name}`);
            return (had.set || had.value).apply(this, values);
        };
        Object.defineProperty(of, name, had.set ? { ...had, set: fail }
                                                : { ...had, value: fail });
    };

    tear(Node.prototype, "textContent");
    tear(Node.prototype, "appendChild");
    tear(Element.prototype, "append");
    tear(Element.prototype, "className");
    tear(Element.prototype, "setAttribute");
    tear(Document.prototype, "title");
    tear(Document.prototype, "createElement");
    tear(DOMTokenList.prototype, "toggle");
    tear(DOMTokenList.prototype, "add");
    tear(DOMTokenList.prototype, "remove");
    tear(Intl.DateTimeFormat.prototype, "formatToParts");
}

async function onward(visitor, name, stage) {
    const [ room, queue ] = [ `${name}1`, `${name}2` ];

    await admin(`activate/${room}`);
    await assign(room);
    await api("ann", "POST", `check/${queue}`);

    for (const at of [ "at first", "later on" ]) {
        if (name === "old" && at === "later on") break;

        const context = await visitor({ user: "cho" });
        await context.addInitScript(stage);
        if (at === "at first") {
            await context.addInitScript(() => { window.tearing = true; });
        }

        for (const [ event, to, go ] of [
            [ room, `/vwr/${room}?return=/in/${room}`,
              () => admin(`advance/${room}`, { batchSize: 2 }) ],
            [ queue, `/queue/${queue}?return=/seats/${queue}`,
              () => api("ann", "POST", `leave/${queue}`) ],
        ]) {
            const page = await context.newPage();
            const end = to.replace(/.*return=/, "");

            await page.goto(config.site + to);

            if (name === "old" || at === "later on") {
                await shows(page, event === room ? "#facts" : "#number",
                            event === room ? /^Your number\d/ : /^1$/,
                            `${event}: waits`, LONG);
            } else {
                await until(() => page.isVisible("#plain"), LONG);
                ok(await page.isVisible("#plain"),
                   `${event}: shows what it can`);
            }

            await page.evaluate(() => { window.tearing = true; });

            const calls = context.calls(`/${event}`);

            await until(() => context.calls(`/${event}`) > calls + 1, LONG);
            ok(context.calls(`/${event}`) > calls + 1,
               `${event}: goes on asking, torn ${at}`);

            await go();
            await reaches(page, end, `${event}: and on, torn ${at}`, LONG);
            await page.close();
        }

        is(name === "old" ? context.seen.errors.join() : "", "", "no errors");

        // the next round is somebody else's

        await context.close();
        await api("cho", "POST", `leave/${queue}`);
        await api("ann", "POST", `check/${queue}`);
        await admin(`activate/${room}?restart=1`);
        await assign(room);
    }
}
