// Tabs of one browser take one ticket between them, whatever the browser has, and
// all of them go on by it.

"use strict";

const { config, ok, is, until, several, shows, reaches, run }
    = require("./lib.js");

const LONG = 30;

// what a browser may lack: locks where there is no https, storage where it is
// forbidden

const lacking = {
    "nothing": () => { },
    "locks": () => {
        Object.defineProperty(navigator, "locks", { value: undefined });
    },
    "storage": () => {
        Object.defineProperty(window, "localStorage", {
            get() { throw new DOMException("no", "SecurityError"); } });
    },
    "locks and storage": () => {
        Object.defineProperty(navigator, "locks", { value: undefined });
        Object.defineProperty(window, "localStorage", {
            get() { throw new DOMException("no", "SecurityError"); } });
    },
};

run(async ({ visitor }) => {
    const all = Object.keys(lacking).map(
        (what, i) => () => fourTabs(visitor, `tabs-${i}`, what));

    await several(4, [
        () => asleep(visitor, "asleep", "nothing"),
        () => asleep(visitor, "asleep-old", "locks"),
        () => closed(visitor, "closed", "nothing"),
        () => leaving(visitor),
        () => ahead(visitor),
        () => closed(visitor, "closed-old", "locks"),
        ...all,
        () => before(visitor, "old-page", 4),
        () => before(visitor, "old-and-new", 2),
        () => inLine(visitor, "line", "nothing"),
        () => inLine(visitor, "line-old", "locks"),
        () => otherCookies(visitor),
    ]);
});


async function call(method, path, headers, body) {
    const response = await fetch(config.site + path, { method, headers, body });
    return response.json();
}

const admin = (path, body) =>
    call("POST", `/api/admin/vwr/${path}`,
         { Authorization: `Bearer ${config.secret}` },
         body && JSON.stringify(body));

const open = event => admin(`activate/${event}`);
const advance = (event, n) => admin(`advance/${event}`, { batchSize: n });

const issued = async event =>
    (await call("GET", `/vwr-api/status/${event}`)).totalInQueue;

const room = event => `${config.site}/vwr/${event}?return=/in/${event}`;

async function tab(context, what) {
    const page = await context.newPage();
    const far = await context.newCDPSession(page);

    await page.addInitScript(lacking[what]);
    await far.send("Network.emulateNetworkConditions",
                   { offline: false, latency: 120, downloadThroughput: -1,
                     uploadThroughput: -1 });
    return page;
}


// All documents at once: browsers open tabs one after the other.

async function together(context, url, n = 4) {
    const waiting = [];

    await context.route(url, route => {
        waiting.push(route);
        if (waiting.length === n) waiting.forEach(one => one.continue());
    });
}


async function fourTabs(visitor, event, what) {
    await open(event);

    const context = await visitor();
    const pages = await Promise.all([ 1, 2, 3, 4 ].map(() => tab(context, what)));

    await together(context, room(event));
    await Promise.all(pages.map(page => page.goto(room(event))));

    for (const page of pages) {
        await shows(page, "#facts", /^Your number1N/,
                    `four tabs, lacking ${what}: number 1`, LONG);
    }

    is(await issued(event), 1, `four tabs, lacking ${what}: one ticket`);
    is(context.calls("/assign/") <= 4, true,
       `four tabs, lacking ${what}: each asked once at most`);

    await advance(event, 1);

    await Promise.all(pages.map((page, i) =>
        reaches(page, `/in/${event}`,
                `four tabs, lacking ${what}: tab ${i + 1} goes on`, LONG)));

    is(await issued(event), 1, `four tabs, lacking ${what}: by the one ticket`);
    is((await context.cookies()).filter(
           cookie => /^admission-tab/.test(cookie.name)).length, 0,
       `four tabs, lacking ${what}: nothing is left of it`);
    is(context.seen.errors.join(), "", `four tabs, lacking ${what}: no errors`);
    await context.close();
}


// Where users are visitors the queue's page makes one.

async function inLine(visitor, event, what) {
    const context = await visitor();
    const pages = await Promise.all([ 1, 2, 3, 4 ].map(() => tab(context, what)));

    const line = `${config.site}/queue/${event}`;

    await together(context, line);
    await Promise.all(pages.map(page => page.goto(line)));

    for (const page of pages) {
        await shows(page, "#facts", /^Ahead of you0Behind you0I/,
                    `four tabs in the line, lacking ${what}: one place`, LONG);
    }

    await context.close();
}


// A tab that has its turn to ask and does not do it is not waited for for ever; nor
// do all others ask at once then, though they have waited for as long.

async function asleep(visitor, event, what) {
    await open(event);

    const context = await visitor();
    const sleeper = await context.newPage();

    await sleeper.goto(`${config.site}/plain`);
    await sleeper.evaluate(event => {
        document.cookie = `admission-tab-${event}=sleeper; path=/; max-age=600`;
        return new Promise(done => navigator.locks.request(
            `admission:${event}`, () => { done(); return new Promise(() => { }); }));
    }, event);

    const pages = [ await tab(context, what), await tab(context, what) ];

    await context.addInitScript(() => { Math.random = () => 0.5; });
    await together(context, room(event), 2);
    await Promise.all(pages.map(page => page.goto(room(event))));

    for (const page of pages) {
        await shows(page, "#facts", /^Your number1N/,
                    `a tab sleeps, lacking ${what}: the others do not`, LONG);
    }

    is(await issued(event), 1, `a tab sleeps, lacking ${what}: one ticket`);
    await context.close();
}


// The page of before the move, which knows nothing of other tabs: each gets a
// ticket, one of which is the browser's in the end, and all of them go on by it,
// those of this module's page as well.

async function before(visitor, event, theirs) {
    await open(event);

    const context = await visitor();
    const pages = await Promise.all([ 1, 2, 3, 4 ].map(
        () => tab(context, "nothing")));
    const old = `${config.site}/before/${event}`;
    const name = `a page of before in ${theirs} of four tabs`;

    await context.route(old, route => route.fulfill(
        { path: `${__dirname}/before.html`, contentType: "text/html" }));

    await Promise.all(pages.map((page, i) => page.goto(
        i < theirs ? old : room(event))));

    for (const page of pages.slice(0, theirs)) {
        await shows(page, "#number", /^[1-4]$/, `${name}: has a number`, LONG);
    }

    const some = await issued(event);

    ok(some <= 4, `${name}: at most a ticket each`, String(some));
    await advance(event, some);

    await Promise.all(pages.map((page, i) =>
        reaches(page, `/in/${event}`, `${name}: tab ${i + 1} goes on`, LONG)));

    for (const page of pages) {
        is(await page.evaluate(() => document.contentType), "image/gif",
           `${name}: past the gate`);
    }

    is(await issued(event), some, `${name}: no more tickets for that`);
    await context.close();
}


// One that asked and was closed before it was told: what it got is the others'.

async function closed(visitor, event, what) {
    const context = await visitor();
    const first = await tab(context, what);

    await first.route("**/assign/**", async route => {
        await route.fetch();        // and the answer is lost
    });

    await open(event);
    await first.goto(room(event));
    await until(async () => await issued(event) === 1, LONG);
    is(await issued(event), 1, `a tab is closed, lacking ${what}: it got a ticket`);

    const second = await tab(context, what);

    await second.goto(room(event));
    await first.close();
    await shows(second, "#facts", /^Your number1N/,
                `a tab is closed, lacking ${what}: the next one has it`, LONG);
    is(await issued(event), 1, `a tab is closed, lacking ${what}: one ticket`);
    await context.close();
}


// What storage says and what cookies say may be of two tickets all the same: of
// tabs of the version before, say.

async function otherCookies(visitor) {
    const event = "two";
    const context = await visitor();
    const page = await tab(context, "nothing");

    await open(event);

    const mine = await call("POST", `/vwr-api/assign/${event}`);

    await page.goto(`${config.site}/plain`);
    await page.evaluate(async ({ event, mine }) => {
        await fetch(`/vwr-api/assign/${event}`, { method: "POST" });
        localStorage.setItem(`admission:${event}:ticket`, JSON.stringify(
            { id: mine.requestId, visitor: mine.visitor }));
    }, { event, mine });

    is(await issued(event), 2, "two tickets: there are");

    await page.goto(room(event));
    await shows(page, "#facts", /^Your number1N/, "two tickets: it goes by one", LONG);
    await advance(event, 1);
    await reaches(page, `/in/${event}`, "two tickets: and in", LONG);
    is(await page.evaluate(() => document.contentType), "image/gif",
       "two tickets: past the gate");
    await context.close();
}


// What there is ahead: by a new ticket its number, then what is told, which each
// call has with it; of a number that was passed over nothing, and it waits on.

async function ahead(visitor) {
    const event = "ahead";
    const context = await visitor({ viewport: { width: 320, height: 640 } });
    const page = await tab(context, "nothing");
    const asked = [];
    let answer;

    await page.route("**/check/**", route => {
        asked.push(new URL(route.request().url()).search);
        if (!answer) return route.abort();
        route.fulfill({ contentType: "application/json", body: JSON.stringify(
            { admitted: false, position: 9, servingCounter: 4, totalInQueue: 12,
              nextPoll: 1, estimatedWait: 800, ...answer }) });
    });

    await open(event);
    for (let i = 0; i < 5; i++) await call("POST", `/vwr-api/assign/${event}`);

    await page.goto(room(event));
    await shows(page, "#number", /^5$/, "ahead: by the ticket", LONG);
    is(await page.textContent("#label"), "People ahead of you", "ahead: and who");
    await until(() => asked.length, LONG);
    is(asked[0], "", "ahead: nothing was told yet");

    answer = { ahead: 3, estimatedWaitRange: [ 720, 900 ] };
    await shows(page, "#number", /^2$/, "ahead: who is there", LONG);
    await shows(page, "#wait", /^Estimated wait: 12 to 15 minutes$/,
                "ahead: from when to when");
    asked.length = 0;
    await until(() => asked.includes("?ahead=3"), LONG);
    is(asked[asked.length - 1], "?ahead=3", "ahead: said with the next call");

    answer = { ahead: 3, estimatedWaitRange: [ 20000, 40000 ] };
    await shows(page, "#wait", /5 hours 30 minutes to 11 hours 10 minutes$/,
                "ahead: however long it takes", LONG);
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       "320 px: nothing sticks out");

    answer = { ahead: 3, estimatedWait: null, paused: true };
    await shows(page, "#wait", /^Entry is paused at the moment$/,
                "ahead: paused, which is no number", LONG);

    answer = { ahead: 2, estimatedWait: null };
    await shows(page, "#wait", /^The wait cannot be estimated yet$/,
                "ahead: null is none either", LONG);

    answer = { ahead: 0, servingCounter: 11 };
    await shows(page, "#wait", /^You are next$/, "ahead: nobody", LONG);
    asked.length = 0;
    await until(() => asked.length > 1, LONG);
    const often = asked.length;

    ok(await page.isVisible("#facts") && often < 5,
       "ahead: and it waits, as often as told", asked.join());

    await context.close();
}


// Only who says so leaves, and all tabs with it.

async function leaving(visitor) {
    const event = "leaving";
    const context = await visitor({ locale: "ko-KR" });
    const pages = [ await tab(context, "nothing"), await tab(context, "nothing") ];
    const asked = [];
    let fails = true;

    await context.route("**/leave/**", route => {
        asked.push(route.request().method() + " "
                   + new URL(route.request().url()).pathname);
        return fails ? route.fulfill({ status: 503, body: "{}" })
                     : route.continue();
    });

    await open(event);
    await Promise.all(pages.map(page => page.goto(room(event))));

    for (const page of pages) {
        await shows(page, "#leave", /^대기열 나가기$/, "leaving: it can be left", LONG);
    }

    await pages[0].reload();
    await shows(pages[0], "#facts", /^내 번호1/, "leaving: a reload is none", LONG);
    is(asked.join(), "", "leaving: nothing is said");

    let answer = "dismiss";

    pages[0].on("dialog", dialog => dialog[answer]());
    await pages[0].click("#leave");
    await shows(pages[0], "#facts", /^내 번호1/, "leaving: not without being sure");
    is(asked.join(), "", "leaving: nothing is said yet");

    answer = "accept";
    await pages[0].click("#leave");
    await shows(pages[0], "#note", /^처리되지/, "leaving: it may fail", LONG);

    const before = context.calls("/check/");

    await until(() => context.calls("/check/") > before + 2, LONG);
    await shows(pages[0], "#facts", /^내 번호1/, "leaving: then it waits on");

    fails = false;
    await pages[0].click("#leave");

    for (const page of pages) {
        await shows(page, "#number", /^대기열에서 나왔습니다$/,
                    "leaving: both tabs have left", LONG);
    }

    const ticket = asked[0];

    ok(/^POST \/vwr-api\/leave\/leaving\/[\w.-]{20,}$/.test(ticket)
       && asked.length === 2 && asked[1] === ticket,
       "leaving: asked for by the ticket", asked.join());
    is(await issued(event), 1, "leaving: nobody joined again by that");

    is((await context.cookies()).filter(
           cookie => /ticket/.test(cookie.name)).length, 0,
       "leaving: the ticket is gone");

    await pages[1].click("#go");
    await shows(pages[1], "#facts", /^내 번호2/, "leaving: back at the end", LONG);
    await context.close();
}
