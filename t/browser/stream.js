"use strict";

const { config, ok, is, sleep, until, shows, reaches, run, api }
    = require("./lib.js");

run(async ({ visitor }) => {
    await Promise.all([ told(visitor), room(visitor), client(visitor) ]);
    await Promise.all([ cut(visitor), refused(visitor), held(visitor) ]);
});


async function waits(visitor, event, before) {
    await api("ann", "POST", `check/${event}`);

    const context = await visitor({ user: "ben", stream: true });
    const page = await context.newPage();

    if (before) await before(context, page);
    await page.goto(`${config.site}/queue/${event}`);
    await shows(page, "#number", /^1$/, `${event}: it waits`);

    return { context, page };
}

const polls = context => context.calls("/check/") + context.calls("/status/");

// Until the stream has told something the page polls: how often it has, once it
// does not any more.

async function settled(context, name) {
    let before;

    ok(await until(async () => {
        before = polls(context);
        await sleep(3);
        return context.calls("/stream/") === 1 && polls(context) === before;
    }), `${name}: a stream, and no polls`);
    return before;
}


// The page hears of what comes and of its turn, and does not poll meanwhile.

async function told(visitor) {
    const { context, page } = await waits(visitor, "told");

    const before = await settled(context, "told");

    await api("cho", "POST", "check/told");
    await shows(page, "#facts", /Behind you1/, "who comes behind is told");
    await sleep(3);
    is(polls(context), before, "nothing is polled while there is a stream");
    is(context.calls("/stream/"), 1, "there is one");

    await api("ann", "POST", "leave/told");
    await reaches(page, "/plain", "it goes on when it is its turn");
    is((await context.cookies()).filter(
        cookie => cookie.name === "urr-entry-token-told").length, 1,
       "with the cookie of the entry token");
    is(context.seen.errors.length, 0, "nothing went wrong");
    await context.close();
}


async function room(visitor) {
    const context = await visitor({ stream: true });
    const page = await context.newPage();

    await page.goto(`${config.site}/vwr/room`);
    await shows(page, "#facts", /Your number1/, "the waiting room");
    const before = await settled(context, "room");

    await fetch(`${config.site}/vwr-api/assign/room`, { method: "POST" });
    await shows(page, "#facts", /Behind you1/, "who comes behind is told");
    is(polls(context), before, "without a poll");

    await fetch(`${config.site}/api/admin/vwr/advance/room`, {
        method: "POST", headers: { Authorization: `Bearer ${config.admin}` } });
    await reaches(page, "/plain", "it goes on when it is its turn");
    is((await context.cookies()).filter(
        cookie => cookie.name === "urr-vwr-token-room").length, 1,
       "with the cookie of the token");
    await context.close();
}


// A stream that ends is opened again, and meanwhile the page polls.

async function cut(visitor) {
    let cuts = 0;
    let before;

    const { context, page } = await waits(visitor, "cut", context =>
        context.route(/\/stream\//, route => {
            if (cuts++) return route.continue();
            before = polls(context);
            return route.fulfill({
                status: 200, contentType: "text/event-stream",
                body: "retry: 1000\n\n" });
        }));

    await until(() => context.calls("/stream/") >= 2 && polls(context) > before);
    ok(context.calls("/stream/") >= 2, "one that is cut is opened again");
    ok(polls(context) > before, "meanwhile it polls");

    await api("ann", "POST", "leave/cut");
    await reaches(page, "/plain", "nothing is lost");
    await context.close();
}


async function refused(visitor) {
    const { context, page } = await waits(visitor, "refused", context =>
        context.route(/\/stream\//, route => route.fulfill({
            status: 503, contentType: "application/json",
            headers: { "Retry-After": "60" },
            body: '{"error":"x","code":"STREAMS_FULL"}' })));

    const before = polls(context);

    await until(() => polls(context) >= before + 3);
    is(context.calls("/stream/"), 1, "one that is refused is left at that");
    ok(polls(context) >= before + 3, "it polls");

    await api("ann", "POST", "leave/refused");
    await reaches(page, "/plain", "nothing is lost");
    await context.close();
}


// A proxy that holds an answer up until it is whole: nothing comes.

async function held(visitor) {
    const { context, page } = await waits(visitor, "held", context =>
        context.route(/\/stream\//, () => { }));

    const before = polls(context);

    await until(() => polls(context) >= before + 3);
    ok(polls(context) >= before + 3, "it polls while nothing comes");

    await api("ann", "POST", "leave/held");
    await reaches(page, "/plain", "nothing is lost");
    await context.close();
}


// What other sites have: EventSource, and onmessage.

async function client(visitor) {
    await api("ann", "POST", "check/client");

    const context = await visitor({ user: "ben", stream: true });
    const page = await context.newPage();

    await page.goto(`${config.site}/plain`);
    await page.evaluate(() => {
        window.heard = [];
        new EventSource("/api/queue/stream/client?join=1").onmessage =
            event => window.heard.push(JSON.parse(event.data));
    });

    const find = status => page.evaluate(
        status => window.heard.find(message => message.status === status),
        status);

    const queued = await until(() => find("queued"));

    is(queued && queued.position, 1, "EventSource: it joins, and waits");
    await api("ann", "POST", "leave/client");

    const active = await until(() => find("active"));

    ok(active && active.entryToken, "its turn, with the token");
    await context.close();
}
