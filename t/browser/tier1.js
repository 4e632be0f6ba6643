"use strict";

const { config, ok, is, like, sleep, until, several, shows, reaches, run, api }
    = require("./lib.js");

const wanted = event => `/events/${event}?row=1&name=a%20b%26c`;
const room = event =>
    `/vwr/${event}?return=` + encodeURIComponent(wanted(event));

run(async ({ visitor }) => {
    await several(3, [
        manyOfOneAddress, visit, together, recovery, fullStorage, otherTickets,
        inactive, inPlace, withoutScript, bothTiers, queueFirst, spread,
    ].map(scenario => () => scenario(visitor)));
});


async function call(method, path, headers) {
    const response = await fetch(config.site + path, { method, headers });
    return response.json();
}

const admin = (method, path) =>
    call(method, `/api/admin/vwr/${path}`,
         { Authorization: `Bearer ${config.tokens.admin}` });

const advance = async (event, n) => {
    const response = await fetch(`${config.site}/api/admin/vwr/advance/${event}`, {
        method: "POST", body: JSON.stringify({ batchSize: n }),
        headers: { Authorization: `Bearer ${config.tokens.admin}` } });
    return response.json();
};

const issued = async event =>
    (await call("GET", `/vwr-api/status/${event}`)).totalInQueue;

// who counts as ahead is who is heard of

const there = [];

setInterval(() => there.forEach(({ event, requestId, visitor }) => {
    call("GET", `/vwr-api/check/${event}/${requestId}?away=1`,
         { "x-admission-visitor": visitor }).catch(() => { });
}), 1000).unref();

async function join(event) {
    there.push({ event, ...await call("POST", `/vwr-api/assign/${event}`) });
}

async function open(event, ahead) {
    await admin("POST", `activate/${event}`);

    for (let i = 0; i < ahead; i++) await join(event);
}


// First visit, reload, second tab, the turn.

async function visit(visitor) {
    await open("first", 3);

    const context = await visitor({ viewport: { width: 320, height: 640 } });
    const page = await context.newPage();

    await page.goto(config.site + wanted("first"));
    is(page.url(), config.site + room("first"), "the gate sends to the page");

    await shows(page, "#number", /^3$/, "people ahead");
    await shows(page, "#label", /^People ahead of you$/, "and what that is");
    await shows(page, "#wait", /^Entry is paused at the moment$/,
                "a rate of 0: no time is promised");
    await shows(page, "#facts", /Your number4Now admitting0Behind you0/,
                "number, counter, behind");
    is(await page.textContent("#title"), "Spring Concert", "the title");
    is(await page.title(), "3 – Spring Concert", "the tab's title");
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       "320 px: nothing sticks out");

    await page.reload();
    await shows(page, "#number", /^3$/, "a reload keeps the place");
    is(context.calls("/assign/"), 1, "without another ticket");

    const second = await context.newPage();

    await second.goto(config.site + room("first"));
    await shows(second, "#number", /^3$/, "a second tab has the same place");
    is(await issued("first"), 4, "there is one ticket for both");

    await advance("first", 2);
    await shows(page, "#number", /^1$/, "the number falls");
    await until(async () =>
        await page.getAttribute("#track", "aria-valuenow") === "50");
    is(await page.getAttribute("#track", "aria-valuenow"), "50",
       "and the bar moves");

    await advance("first", 1);
    await shows(page, "#label", /^Your number$/, "nobody is ahead");
    await shows(page, "#wait", /^Entry is paused at the moment$/,
                "and entry is paused, though people are let in by hand");

    await advance("first", 1);
    await reaches(page, wanted("first"), "the turn: to the deep link");
    await reaches(second, wanted("first"), "the second tab as well");

    const cookies = (await context.cookies()).map(cookie => cookie.name);
    ok(cookies.includes("urr-vwr-token-first"), "with a token",
       cookies.join());

    const elsewhere = context.seen.requests.map(request => request.url())
        .filter(url => !url.startsWith(config.site + "/"));

    is(elsewhere.join(), "", "no request to anywhere else");
    is(context.seen.errors.join(), "", "no errors, nothing forbidden");

    await context.close();

    const korean = await visitor({ locale: "ko-KR" });
    const other = await korean.newPage();

    await join("first");
    await other.goto(config.site + room("first"));
    await shows(other, "#number", /^1명$/, "Korean: the number");
    await shows(other, "#label", /^내 앞에 기다리는 사람$/, "Korean: the label");
    await shows(other, "#facts", /내 번호6현재 입장 번호4내 뒤0명/,
                "Korean: the rest");

    await korean.close();
}


// Two tabs that open at once.

async function together(visitor) {
    await open("together", 0);

    const context = await visitor();
    const pages = [ await context.newPage(), await context.newPage() ];

    await Promise.all(pages.map(page =>
        page.goto(config.site + room("together"))));

    for (const page of pages) {
        await shows(page, "#facts", /^Your number1/, "tabs at once: number 1");
    }

    is(await issued("together"), 1, "tabs at once: one ticket");
    await context.close();
}


// Either cookies or storage are enough.

async function recovery(visitor) {
    await open("recovery", 1);

    const context = await visitor();
    const page = await context.newPage();

    await page.goto(config.site + room("recovery"));
    await shows(page, "#facts", /^Your number2/, "a ticket");

    await context.clearCookies();
    await page.reload();
    await shows(page, "#facts", /^Your number2/, "cookies lost: the same");

    await page.evaluate(() => { localStorage.clear(); });
    await context.clearCookies();
    is(await issued("recovery"), 2, "(two)");

    await page.reload();
    await shows(page, "#facts", /^Your number3/, "both lost: another");

    await page.evaluate(() => { localStorage.clear(); });
    await page.reload();
    await shows(page, "#facts", /^Your number3/, "storage lost: the same");

    await context.clearCookies();
    await advance("recovery", 3);
    await reaches(page, wanted("recovery"), "in, without a cookie before");

    await context.close();
}


// Storage that is full can be read, and forgets what is written.

async function fullStorage(visitor) {
    await open("full", 1);

    const context = await visitor();
    const page = await context.newPage();

    await page.goto(config.site + "/plain");
    await page.evaluate(() => {
        for (let size = 1 << 22, n = 0; size >= 1; size >>= 1) {
            try {
                for ( ;; n++) localStorage.setItem(n, "x".repeat(size));
            } catch { }
        }
    });

    let assigned = 0;

    page.on("request", request => {
        assigned += /\/assign\//.test(request.url());
    });

    await page.goto(config.site + room("full"));
    await shows(page, "#facts", /^Your number2/, "storage full: a ticket");
    await advance("full", 2);
    await reaches(page, wanted("full"), "storage full: in");
    is(assigned, 1, "storage full: one ticket asked for");

    await context.close();
}


async function otherTickets(visitor) {
    await open("others", 1);

    const context = await visitor();
    const page = await context.newPage();

    // an earlier activation's

    await page.goto(config.site + room("others"));
    await shows(page, "#facts", /^Your number2/, "a ticket");

    // in which two others come first: the page asks nothing until they have

    let held = [];

    await page.route("**/vwr-api/**", async route => {
        held ? held.push(route) : await route.continue();
    });
    await admin("POST", "activate/others?restart=1");
    await call("POST", "/vwr-api/assign/others");
    await call("POST", "/vwr-api/assign/others");

    // who removes the handler races with what it was just given

    const asked = held;
    held = null;
    for (const route of asked) await route.continue();
    await shows(page, "#facts", /^Your number3/, "a new sale: a new number");

    // somebody else's, and one that is none

    const { requestId } = await call("POST", "/vwr-api/assign/others");

    for (const id of [ requestId, "none" ]) {
        await context.clearCookies();
        await page.goto(config.site + "/plain");
        await page.evaluate(id => {
            localStorage.clear();
            localStorage.setItem("admission:others:ticket",
                                 JSON.stringify({ id }));
        }, id);

        if (id === requestId) await advance("others", 4);

        const number = await issued("others") + 1;

        await page.goto(config.site + room("others"));
        await shows(page, "#facts", new RegExp(`^Your number${number}N`),
                    `not by ${id === "none" ? "nothing" : "another's"}`);
    }

    await context.close();
}


async function inactive(visitor) {
    const context = await visitor();
    const page = await context.newPage();

    await page.goto(config.site + room("inactive"));
    await reaches(page, wanted("inactive"), "no waiting room: straight on");

    await page.goto(config.site + "/twice/inactive");
    await reaches(page, "/inactive/inactive", "next= with the event, twice");

    for (const hostile of [ "//evil.example/", "/\\evil.example",
                            "https://evil.example/", "javascript:alert(1)",
                            "/\t/evil.example", "evil.example",
                            "/" + "x".repeat(2100),
                            "/vwr/inactive?return=/x" ])
    {
        await page.goto(config.site + "/vwr/inactive?return="
                        + encodeURIComponent(hostile));
        await reaches(page, "/plain", `on this site: ${hostile.slice(0, 30)}`);
        await until(() => page.evaluate(() => { sessionStorage.clear(); return true; }));
    }

    await context.close();
}


// error_page: the address is that of what was denied, and stays so.

async function inPlace(visitor) {
    await open("placed", 1);

    const context = await visitor();
    const page = await context.newPage();
    const here = "/in/placed?return=%2Fplain&a=1#top";

    await page.goto(config.site + here);
    await shows(page, "#facts", /^Your number2/, "in place: the page");
    is(page.url(), config.site + here, "in place: the address stays");

    await advance("placed", 2);
    await reaches(page, here,
                  "in place: to what was denied, with a return of its own");
    await until(() => page.evaluate(() => document.contentType)
                          .then(type => type === "image/gif", () => false));
    is(await page.evaluate(() => document.contentType), "image/gif",
       "in place: and in");

    await context.close();
}


async function withoutScript(visitor) {
    await open("plainly", 2);

    const context = await visitor({ javaScriptEnabled: false });
    const page = await context.newPage();

    await page.goto(config.site + wanted("plainly"));
    await until(() => page.url().includes("nojs=1"));
    like(page.url(), /\?nojs=1&return=/, "no JavaScript: goes on by itself");

    await shows(page, ".number", /^2$/, "no JavaScript: people ahead");

    // it comes again by itself: between two documents there is none to look at

    ok(await until(async () => await page.isVisible(".if-paused")
                               && !await page.isVisible(".if-going")),
       "no JavaScript: entry is paused");
    await until(() => page.url().includes("again=1"));
    like(page.url(), /again=1/, "no JavaScript: comes again");
    await shows(page, ".number", /^2$/, "no JavaScript: the same place");
    is(await issued("plainly"), 3, "no JavaScript: one ticket");

    await advance("plainly", 3);
    await reaches(page, wanted("plainly"), "no JavaScript: to the deep link");
    is(context.seen.errors.join(), "", "no JavaScript: nothing forbidden");

    await context.close();
}


// Over assign_rate: the page says so, and comes in by itself.

async function manyOfOneAddress(visitor) {
    await open("few", 0);

    // Somebody else takes what there is: from then on nobody is let into the
    // line for 10 s, which a page of an open window takes no part of.

    const taken = async () =>
        ok(await until(async () => 200 === (
               await fetch(`${config.few}/vwr-api/assign/few`,
                           { method: "POST" })).status),
           "(somebody took what there was)");

    const context = await visitor();
    const page = await context.newPage();

    await page.goto(`${config.few}/plain`);     // a new browser takes its time
    await taken();
    const start = Date.now();

    await page.goto(`${config.few}/vwr/few`);
    await shows(page, "#note", /from you or your network.*no place yet.*Next try in ([2-9]|1[0-3]) s/,
                "429: says whose requests, and promises nothing");
    is(await page.textContent("#number"), "You are not in line yet",
       "429: and that it is not in line");
    await shows(page, "#facts", /^Your number2/, "429: then it is, by itself");
    ok(Date.now() - start >= 5000 && context.calls("/assign/") >= 2,
       "429: not before the time it was told");
    await until(() => page.isHidden("#note"));
    ok(await page.isHidden("#note"), "and the note goes");
    await context.close();

    const plain = await visitor({ javaScriptEnabled: false });
    const old = await plain.newPage();

    await old.goto(`${config.few}/plain`);
    await taken();
    await old.goto(`${config.few}/vwr/few?nojs=1`);
    await shows(old, "main.crowded .if-crowded", /You have no place yet/,
                "429, no JavaScript: says so");
    ok(await until(async () => await old.isVisible(".if-crowded")
                               && !await old.isVisible(".if-waiting")),
       "429, no JavaScript: and nothing else");
    await until(() => old.isVisible(".if-waiting"));
    await shows(old, "dl", /^Your number\D*4\D/,
                "429, no JavaScript: then it is in line");
    await plain.close();
}


// All the way: waiting room, queue, seats.

async function bothTiers(visitor) {
    await open("both", 1);
    await api("ann", "POST", "check/both");

    const seats = "/seats/both?row=1&name=a%20b";
    const context = await visitor({ user: "cho" });
    const page = await context.newPage();

    await page.goto(config.site + seats);
    is(page.url(), config.site + "/vwr/both?return="
                   + encodeURIComponent(seats), "the waiting room first");
    await shows(page, "#facts", /^Your number2/, "a number there");

    await advance("both", 2);
    await reaches(page, "/queue/both?return=" + encodeURIComponent(seats),
                  "then the queue");
    await shows(page, "#number", /^1$/, "a place there");

    await api("ann", "POST", "leave/both");
    await reaches(page, seats, "then the seats");
    is(context.seen.errors.join(), "", "no errors");

    await context.close();
}


// Who goes to the queue by itself is sent to the waiting room, and back.

async function queueFirst(visitor) {
    await open("direct", 0);

    const context = await visitor({ user: "ben" });
    const page = await context.newPage();
    const queue = "/queue/direct?return=%2Fseats%2Fdirect";

    await page.goto(config.site + queue);
    await reaches(page, "/vwr/direct?return=" + encodeURIComponent(queue),
                  "TIER1_REQUIRED: to the waiting room");
    await shows(page, "#facts", /^Your number1/, "a number there");

    await advance("direct", 1);
    await reaches(page, "/seats/direct", "and back, and in");

    await context.close();
}


// Who took a ticket asks first at any moment until it is told to, and then no
// earlier than that, unless the turn may come, which it may not where the counter
// stands: those who came together do not go in together.

async function spread(visitor) {
    await open("spread", 3);

    const context = await visitor();
    const page = await context.newPage();
    const asked = [];
    const at = [];          // when it asked, and when it was told

    await page.addInitScript(() => {
        Math.random = () => 0;
        window.ReadableStream = undefined;
    });

    // longer than the page takes to show: the first one in 3 s of 30
    await page.route("**/vwr-api/**", async route => {
        const from = Date.now();
        const response = await route.fetch();
        const json = await response.json();
        asked.push(new URL(route.request().url()).pathname.split("/")[2]);
        at.push({ from, to: Date.now() });
        json.nextPoll = 30;
        if (asked.length > 1) {
            json.estimatedWaitRange = [4, 9];
            json.servingCounter++;
        }
        return route.fulfill({ response, json });
    });

    await page.goto(config.site + room("spread"));
    await until(() => asked.length > 1);
    is(asked.slice(0, 2).join(), "assign,check", "it asks before it is told to, once");

    await until(() => at.length > 2);
    const took = at[2].from - at[1].to;
    ok(took > 3000 && took < 20000, "and again when the turn may come", took);
    await sleep(6);
    is(asked.length, 3, "no sooner than it is told to where the counter stands");
    await context.close();
}
