// A page that nobody looks at waits on, calls its person, and takes its turn when
// it is looked at.

"use strict";

const { config, ok, is, like, until, several, shows, reaches, run, api }
    = require("./lib.js");

const LONG = 120;   // s: a page may take its time where the machine does

run(async ({ visitor }) => {
    await several(3, [
        called, quietly, late, spent, waitingRoom, othersTicket,
    ].map(scenario => () => scenario(visitor)));
});


async function call(method, path, headers, body) {
    const response = await fetch(config.site + path, { method, headers, body });
    return response.json();
}

const operator = { Authorization: `Bearer ${config.tokens.admin}` };
const admin = (path, body) => call("POST", `/api/admin/vwr/${path}`, operator,
                                   body && JSON.stringify(body));

// Whether it is hidden is what the test says; sounds and notifications are
// noted down.

function stage(permission) {
    let hidden = false;

    Object.defineProperty(document, "hidden", { get: () => hidden });
    window.hide = value => {
        hidden = value;
        document.dispatchEvent(new Event("visibilitychange"));
    };

    window.heard = { tones: 0, notes: [] };
    window.AudioContext = class {
        constructor() { this.currentTime = 0; }
        createGain() { return { gain: {}, connect() { } }; }
        createOscillator() {
            return { frequency: {}, connect() { }, stop() { },
                     start() { heard.tones++; } };
        }
        close() { }
    };
    window.Notification = class {
        constructor(title, options) { heard.notes.push([title, options.body]); }
        static get permission() { return permission; }
        static requestPermission() { heard.notes.push("asked"); }
    };
}

async function staged(visitor, permission, options) {
    const context = await visitor(options);
    const page = await context.newPage();
    const asked = [];

    await page.addInitScript(stage, permission);
    page.on("request", request => {
        if (/\/(status|check)\//.test(request.url())) asked.push(request.url());
    });
    page.asked = asked;
    return [ context, page ];
}

const cookie = async (context, name) =>
    (await context.cookies()).some(cookie => cookie.name === name);

const title = async page => page.title().catch(() => "");

async function says(page, pattern, name) {
    await until(async () => pattern.test(await title(page)), LONG);
    return like(await title(page), pattern, name);
}


async function called(visitor) {
    await api("ann", "POST", "check/called");

    const [ context, page ] = await staged(visitor, "granted", { user: "cho" });

    await page.goto(config.site + "/queue/called?return=/seats/called");
    await shows(page, "#number", /^1$/, "waits", LONG);
    ok(!page.asked.some(url => /away/.test(url)), "somebody looks");

    await page.evaluate(() => { hide(true); });
    await until(() => page.asked.some(url => /status.*\?away=1$/.test(url)), LONG);
    ok(page.asked.some(url => /status.*\?away=1$/.test(url)),
       "nobody looks: it asks that way");

    await api("ann", "POST", "leave/called");
    await says(page, /^It is your turn – Spring Concert$/,
               "its turn: it says so by its title");
    await shows(page, "#wait",
                /^You go on as soon as you look.*Time left: about .*minute|hour/,
                "and how long there is");

    const heard = await page.evaluate(() => heard);

    ok(heard.tones > 0, "it sounds");
    is(JSON.stringify(heard.notes),
       JSON.stringify([ [ "It is your turn", "Spring Concert" ] ]),
       "and notifies, where it was allowed to");

    const before = page.asked.length;

    await until(() => page.asked.length > before + 1, LONG);
    ok(page.asked.length > before + 1, "it keeps asking");
    ok(!await cookie(context, "urr-entry-token-called"), "and takes no turn");
    is(page.url(), config.site + "/queue/called?return=/seats/called",
       "it stays");
    is((await page.evaluate(() => heard)).notes.length, 1, "it called once");

    await page.evaluate(() => { hide(false); });
    await reaches(page, "/seats/called", "somebody looks: it goes on", LONG);
    is(context.seen.errors.join(), "", "no errors");
    await context.close();
}


// Not where nobody allowed it, and it does not ask to be.

async function quietly(visitor) {
    await api("ann", "POST", "check/quiet");

    const [ context, page ] = await staged(visitor, "default", { user: "cho" });

    // nor does it matter that there is no sound to be had

    await page.addInitScript(() => {
        window.AudioContext = class { constructor() { throw 1; } };
    });

    await page.goto(config.site + "/queue/quiet?return=/seats/quiet");
    await shows(page, "#number", /^1$/, "waits", LONG);
    await page.evaluate(() => { hide(true); });
    await api("ann", "POST", "leave/quiet");
    await says(page, /^It is your turn/, "its turn");
    is(await page.evaluate(() => heard.notes.join()), "", "no notification");
    await page.evaluate(() => { hide(false); });
    await reaches(page, "/seats/quiet", "and on", LONG);
    await context.close();
}


// Too late: back at the old place, while the line goes on.

async function late(visitor) {
    await api("ann", "POST", "check/late");

    const [ context, page ] = await staged(visitor, "granted", { user: "cho" });

    await page.goto(config.site + "/queue/late?return=/seats/late");
    await shows(page, "#number", /^1$/, "waits", LONG);
    await page.evaluate(() => { hide(true); });
    await until(() => page.asked.some(url => /away/.test(url)), LONG);

    await api("dan", "POST", "check/late");
    await api("ann", "POST", "leave/late");

    let said;

    // who comes too late for that second joins anew

    await until(async () => {
        said = (await api("dan", "GET", "status/late")).status;
        if (said === "not_in_queue") await api("dan", "POST", "check/late");
        return said === "active";
    }, LONG);
    is(said, "active", "nobody came: the next gets in");

    await shows(page, "#number", /^1$/, "at its old place again", LONG);

    await page.evaluate(() => { hide(false); });
    await until(() => !/away/.test(page.asked[page.asked.length - 1]), LONG);
    await api("dan", "POST", "leave/late");
    await reaches(page, "/seats/late", "and in, as somebody looks", LONG);
    await context.close();
}


// In at once, with nobody there: it is not let in again and again.

async function spent(visitor) {
    const [ context, page ] = await staged(visitor, "granted", { user: "cho" });

    await page.addInitScript(() => { hide(true); });
    await page.goto(config.site + "/queue/spent?return=/seats/spent");
    await says(page, /^Your turn has passed/, "the slot ran out");

    const joined = context.calls("/check/");

    // for 2 s, which may be over before she asks again

    let said;

    await until(async () => {
        said = (await api("ann", "POST", "check/spent")).status;
        return said === "active";
    }, LONG);
    is(said, "active", "the slot is another's");
    await api("ann", "POST", "leave/spent");
    is(context.calls("/check/"), joined, "it has not joined again");

    await page.evaluate(() => { hide(false); });
    await reaches(page, "/seats/spent", "until somebody looks", LONG);
    await context.close();
}


async function waitingRoom(visitor) {
    await admin("activate/room");

    const [ context, page ] = await staged(visitor, "granted");

    await page.goto(config.site + "/vwr/room?return=/in/room");
    await shows(page, "#facts", /^Your number1/, "waiting room: a number", LONG);
    await page.evaluate(() => { hide(true); });
    await until(() => page.asked.some(url => /check.*[?&]away=1$/.test(url)), LONG);

    await admin("advance/room", { batchSize: 1 });
    await says(page, /^It is your turn/, "waiting room: its turn");

    const before = page.asked.length;

    await until(() => page.asked.length > before, LONG);
    ok(!await cookie(context, "urr-vwr-token-room"),
       "waiting room: it is not redeemed");
    is((await page.evaluate(() => heard)).notes.length, 1,
       "waiting room: it called");

    await page.evaluate(() => { hide(false); });
    await reaches(page, "/in/room", "waiting room: somebody looks: on", LONG);
    ok(await cookie(context, "urr-vwr-token-room"), "waiting room: with a token");
    is(context.seen.errors.join(), "", "no errors");
    await context.close();
}


// Of tabs that open at once one may be left with the ticket of a visitor that
// the browser is not any more.

async function othersTicket(visitor) {
    await admin("activate/others");

    const { requestId } = await call("POST", "/vwr-api/assign/others");
    const context = await visitor();
    const page = await context.newPage();

    await page.goto(config.site + "/vwr/others?return=/in/others");
    await shows(page, "#facts", /^Your number2/, "a ticket", LONG);
    await page.goto(config.site + "/plain");
    await page.evaluate(id => {
        localStorage.clear();
        localStorage.setItem("admission:others:ticket", JSON.stringify({ id }));
    }, requestId);

    await page.goto(config.site + "/vwr/others?return=/in/others");
    await shows(page, "#facts", /^Your number2/,
                "another's is dropped at once, for its own", LONG);
    is((await call("GET", "/vwr-api/status/others")).totalInQueue, 2,
       "without another ticket");

    await admin("advance/others", { batchSize: 2 });
    await reaches(page, "/in/others", "and in", LONG);
    await context.close();
}
