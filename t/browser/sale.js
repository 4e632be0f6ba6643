"use strict";

const { config, ok, is, until, went, several, shows, reaches, run }
    = require("./lib.js");

run(async ({ visitor }) => {
    await several(3, [
        countdown, drawn, control ].map(scenario => () => scenario(visitor)));
});


const date = seconds => new Date(Date.now() + seconds * 1000).toISOString();

async function schedule(event, times) {
    const response = await fetch(
        `${config.site}/api/admin/vwr/schedule/${event}`,
        { method: "PUT", body: JSON.stringify(times),
          headers: { Authorization: `Bearer ${config.tokens.admin}` } });
    is(response.status, 200, `(operator: times of ${event})`);
}

// seconds that a text as 1:02:03 or 4:05 shows

const left = text => (text.match(/(\d+(?::\d\d)+)/) || [ "", "" ])[1]
    .split(":").reduce((sum, part) => 60 * sum + Number(part), 0);

async function truth(event) {
    const status = await (await fetch(
        `${config.site}/vwr-api/status/${event}`)).json();
    return status.opensIn || status.startsIn;
}


// the date of the device, which may jump

const anHourOff = page => page.addInitScript(() => {
    const now = Date.now.bind(Date);
    let ahead = 3600000;
    Date.now = () => now() + ahead;
    window.jump = ms => { ahead += ms; };
});

// how long the bar takes to move

const motion = page => page.evaluate(() => getComputedStyle(
    document.querySelector(".fill")).transitionDuration);


// before, gathering and the start, with the date of the device an hour off

async function countdown(visitor) {
    const event = "concert";
    await schedule(event, { opens: date(1800), starts: date(3600) });

    for (const locale of [ "en-US", "ko-KR" ]) {
        const ko = locale === "ko-KR";
        const context = await visitor({ locale, reducedMotion: "reduce",
                                        viewport: { width: 320, height: 640 } });
        const page = await context.newPage();

        await anHourOff(page);
        await page.goto(`${config.site}/vwr/${event}`);
        await shows(page, "#label", ko ? /^오픈까지$/ : /^Opens in$/,
                    `${locale}: it counts down`);
        await shows(page, "#number", /^\d\d:\d\d$/, `${locale}: to the opening`);

        ok(await until(async () => {
            const told = await truth(event);
            return Math.abs(left(await page.textContent("#number")) - told) <= 1;
        }), `${locale}: as the server has it, whatever the device's date is`);
        ok(await page.evaluate(
            () => document.documentElement.scrollWidth <= 320),
           `${locale}, 320 px: nothing sticks out`);
        is(context.calls("/assign/"), 1, `${locale}: asks for a ticket once`);

        // the device slept: it is asked for anew

        const polls = context.calls("/status/");
        await page.evaluate(() => window.jump(7200000));
        ok(await until(() => context.calls("/status/") > polls),
           `${locale}: after a jump of the date it asks`);
        await shows(page, "#number", /^\d\d:\d\d$/, `${locale}: and counts on`);

        // a change of an operator's

        await schedule(event, { opens: date(90000), starts: date(99999) });
        const changed = went();
        await shows(page, "#number", ko ? /^1일 \d\d:\d\d:\d\d$/
                                        : /^1 d \d\d:\d\d:\d\d$/,
                    `${locale}: another time`);
        ok(went() - changed < 5000 * Number(process.env.TEST_SLOW || 1),
           `${locale}: is there soon`);
        await schedule(event, { opens: date(1800), starts: date(3600) });
        is(context.seen.errors.join(), "", `${locale}: no error`);
        await context.close();
    }

    const context = await visitor();
    const page = await context.newPage();
    await page.goto(`${config.site}/vwr/${event}`);
    await shows(page, "#label", /^Opens in$/, "a page that waits");
    await schedule(event, { opens: date(-10), starts: date(600) });
    await shows(page, "#number", /^1$/, "it opens: a number");
    await shows(page, "#wait", /Entry starts in \d{1,2}:\d\d$/,
                "and counts down to the start");
    await schedule(event, { opens: date(-10), starts: date(2) });
    await reaches(page, "/plain", "and goes on by itself");
    await context.close();

    await schedule(event, { closes: date(-1) });
    const late = await visitor();
    const other = await late.newPage();
    await other.goto(`${config.site}/vwr/${event}`);
    await shows(other, "#number", /^The sale is closed$/, "too late");
    await late.close();
}


async function call(method, path, body) {
    const response = await fetch(`${config.site}${path}`, {
        method, body, headers: { Authorization: `Bearer ${config.tokens.admin}` } });
    return response.json();
}


async function drawn(visitor) {
    const event = "lots";
    await schedule(event, { opens: date(-10), starts: date(600) });

    const contexts = [];
    for (let i = 0; i < 3; i++) {
        const context = await visitor({ reducedMotion: i ? "no-preference"
                                                         : "reduce" });
        const page = await context.newPage();
        if (i === 0) await anHourOff(page);
        await page.goto(`${config.site}/vwr/${event}`);
        await shows(page, "#label", /^Your lot$/, "a lot");
        await shows(page, "#number", new RegExp(`^${i + 1}$`), "its number");
        ok(await until(async () => {
            const told = await truth(event);
            const text = await page.textContent("#wait");
            return /Entry starts in \d+:\d\d$/.test(text.trim())
                   && Math.abs(left(text) - told) <= 1;
        }), "it counts down, whatever the device's date is");
        is(await motion(page), i ? "0.6s" : "0s",
           i ? "the bar moves" : "with reduced motion it does not");
        contexts.push([ context, page ]);
    }
    ok(await contexts[0][1].isVisible("#check"), "the draw can be checked");
    await shows(contexts[0][1], "#commitment", new RegExp(
        (await call("GET", `/vwr-api/draw/${event}`)).commitment + "$"),
        "and what it commits to is there to be noted");

    const [ admin, card ] = await operator(visitor, event);
    const row = card.locator(".draw");
    const shown = async (pattern, name) => {
        let text;
        await until(async () => pattern.test(text = await row.innerText()));
        return ok(pattern.test(text), `the control page: ${name}`, text);
    };

    await shown(/^To be drawn · commitment [0-9a-f]{12}…$/, "what it commits to");
    ok(await until(async () => /Gathering: tickets are given.*starts/s.test(
        await card.innerText())), "the control page: it gathers");

    const { commitment } = await call("GET", `/vwr-api/draw/${event}`);
    is(await row.locator("span[title]").first().getAttribute("title"),
       commitment, "the control page: all of the commitment can be read");

    await schedule(event, { opens: date(-10), starts: date(-1) });

    const places = [];
    for (const [ , page ] of contexts) {
        await shows(page, "#facts", /Your place by the draw[123].*Your lot[123]/s,
                    "place and lot");
        places.push((await page.textContent("#facts")).match(/draw(\d)/)[1]);
    }
    is(places.sort().join(), "1,2,3", "each place once");

    await shown(/^Drawn · 3 lots · commitment [0-9a-f]{12}… · seed [0-9a-f]{12}…$/,
                "how it was drawn");
    ok(await until(async () => /Open · /.test(await card.innerText())),
       "the control page: it is open");
    is(await row.locator("span[title]").last().getAttribute("title"),
       (await call("GET", `/vwr-api/draw/${event}`)).seed,
       "the control page: all of the seed as well");
    is(admin.seen.errors.join(), "", "the control page: no error");
    await admin.close();

    await call("POST", `/api/admin/vwr/advance/${event}`,
               JSON.stringify({ batchSize: 3 }));
    for (const [ context, page ] of contexts) {
        await reaches(page, "/plain", "and its turn");
        await context.close();
    }
}


// the control page, signed in, and the card of an event

async function operator(visitor, event) {
    const context = await visitor({ timezoneId: "Asia/Seoul" });
    const page = await context.newPage();
    await page.goto(`${config.site}/control/`);
    await page.fill("#secret", config.tokens.admin);
    await page.click("#enter");
    return [ context, page.locator(`#event-${event}`), page ];
}


async function control(visitor) {
    const [ context, card, page ] = await operator(visitor, "moved");
    await card.getByRole("button", { name: "Times…" }).click();
    await page.fill("#time-opens", "2030-01-01T19:30");
    await page.fill("#time-starts", "2030-01-01T19:00");
    await shows(page, "#ask-words", /not before the one above/, "an order");
    await page.fill("#time-starts", "2030-01-01T20:00:05");
    await shows(page, "#ask-words", /Asia\/Seoul.*20:00:05/s, "in words");
    await page.click("#yes");
    ok(await until(async () => /Not open yet.*starts/.test(
        await card.textContent())), "the card shows it");
    const told = await call("GET", "/api/admin/vwr/schedule/moved");
    is(told.schedule.starts, "2030-01-01T11:00:05Z", "the time zone's");
    await card.getByRole("button", { name: "Times…" }).click();
    await page.check("#times-configured");
    await page.click("#yes");
    ok(await until(async () => !/Not open yet/.test(await card.textContent())),
       "and back to the configuration");
    is(context.seen.errors.join(), "", "no error");
    await context.close();
}
