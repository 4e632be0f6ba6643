// Tabs of one browser take one ticket between them, whatever the browser has, and
// all of them go on by it.

"use strict";

const { config, ok, is, until, shows, reaches, run } = require("./lib.js");

const LONG = 15;

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
    for (const [ i, what ] of Object.keys(lacking).entries()) {
        await fourTabs(visitor, `tabs-${i}`, what);
    }

    await Promise.all([ asleep(visitor, "asleep", "nothing"),
                        asleep(visitor, "asleep-old", "locks"),
                        closed(visitor, "closed", "nothing"),
                        closed(visitor, "closed-old", "locks") ]);
    await otherCookies(visitor);
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


async function fourTabs(visitor, event, what) {
    await open(event);

    const context = await visitor();
    const pages = await Promise.all([ 1, 2, 3, 4 ].map(() => tab(context, what)));

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


// A tab that has its turn to ask and does not do it is not waited for for ever.

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

    await Promise.all(pages.map(page => page.goto(room(event))));

    for (const page of pages) {
        await shows(page, "#facts", /^Your number1N/,
                    `a tab sleeps, lacking ${what}: the others do not`, LONG);
    }

    is(await issued(event), 1, `a tab sleeps, lacking ${what}: one ticket`);
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
