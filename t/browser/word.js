"use strict";

const { config, ok, is, like, until, went, shows, run, api } = require("./lib.js");

run(async ({ visitor }) => {
    await fullQueue(visitor);
    await fullRoom(visitor);
    await words(visitor);
    await held(visitor);
    await control(visitor);
});


async function operator(method, call, body) {
    const response = await fetch(`${config.site}/api/admin/vwr/${call}`, {
        method, body: body && JSON.stringify(body),
        headers: { Authorization: `Bearer ${config.tokens.admin}` } });
    is(response.status, 200, `(operator: ${method} ${call})`);
}

const narrow = { viewport: { width: 320, height: 640 } };

// a page that comes again by itself may be on its way to that

const fits = page => until(() => page.evaluate(
    () => document.documentElement.scrollWidth <= 320));


async function fullQueue(visitor) {
    await api("ann", "POST", "check/full");

    for (const locale of [ "en-US", "ko-KR" ]) {
        const ko = locale === "ko-KR";
        const context = await visitor({ user: ko ? "ben" : "cho", locale,
                                        ...narrow });
        const page = await context.newPage();
        const calls = [];
        let soon = false;

        // as it answers, but for when to come again

        await page.route("**/api/queue/check/**", async route => {
            const response = await route.fetch();
            const json = await response.json();
            calls.push(Date.now());
            if (json.code !== "QUEUE_FULL" || !soon) {
                return route.fulfill({ response });
            }
            const headers = { ...response.headers(), "retry-after": "1" };
            return route.fulfill({ response, headers, json });
        });

        await page.goto(config.site + "/queue/full");
        await shows(page, "#number", ko ? /^지금은 대기 인원이 가득 찼습니다$/
                                        : /^The line is full at the moment$/,
                    `${locale}: the line is full`);
        await shows(page, "#note",
            ko ? /아직 순번을 받지 못했습니다.*(3[0-9]|4[0-9]|5[0-9]|60)초 후 다시/
               : /no place yet.*by itself\. Next try in (3[0-9]|4[0-9]|5[0-9]|60) s/,
            `${locale}: comes again after 30 to 60 s`);
        ok(await page.isHidden("#keep") && await page.isHidden("#facts"),
           `${locale}: and promises no place`);
        ok(await fits(page), `${locale}, 320 px: nothing sticks out`);
        like(await page.textContent("#live"),
             ko ? /가득|다시/ : /full|Next try/, `${locale}: it is read out`);

        if (ko) {
            await context.close();
            continue;
        }

        // told 1 s it comes after 5 at least, and joins once there is room

        soon = true;
        await page.reload();
        await until(() => calls.length > 2);
        const pause = calls[calls.length - 1] - calls[calls.length - 2];
        ok(pause >= 5000, "it does not hurry", `${pause} ms`);
        ok(await until(() => page.isVisible("#note")), "(it is refused again)");

        await api("ann", "POST", "leave/full");
        await shows(page, "#number", /^1$/, "then there is room: a place", 30);
        await until(() => page.isHidden("#note"));
        ok(await page.isHidden("#note"), "and the note goes");

        // a place that is shown is not refused

        soon = false;
        await api("ann", "POST", "check/full");
        await context.clearCookies({ name: /place/ });
        await page.reload();
        await shows(page, "#number", /^1$/, "a reload keeps the place");
        is(context.seen.errors.join(), "", "no errors, nothing forbidden");

        await context.close();
        await api("cho", "POST", "leave/full");
        await api("ann", "POST", "check/full");
    }

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();

    await page.goto(config.site + "/queue/long");
    await shows(page, "#number", /^The wait is too long at the moment$/,
                "too long");
    await context.close();
}


async function fullRoom(visitor) {
    await operator("POST", "activate/full");
    await fetch(`${config.site}/vwr-api/assign/full`, { method: "POST" });

    const context = await visitor(narrow);
    const page = await context.newPage();

    await page.goto(config.site + "/vwr/full");
    await shows(page, "#number", /^The line is full at the moment$/,
                "waiting room: full");
    await shows(page, "#note", /no place yet.*Next try in \d\d s/,
                "waiting room: and comes again");
    ok(await fits(page), "waiting room, 320 px: nothing sticks out");
    await context.close();

    const plain = await visitor({ javaScriptEnabled: false, ...narrow });
    const old = await plain.newPage();

    await old.goto(config.site + "/vwr/full?nojs=1");
    await shows(old, ".if-full",
                /The line is full.*지금은 대기 인원이 가득 찼습니다/s,
                "no JavaScript: says so, in both languages");
    ok(await old.isVisible(".if-full") && !await old.isVisible(".if-waiting"),
       "no JavaScript: and nothing else");
    ok(await fits(old), "no JavaScript, 320 px: nothing sticks out");
    await plain.close();
}


async function words(visitor) {
    await operator("POST", "activate/word");
    await api("ann", "POST", "check/word");
    await fetch(`${config.site}/vwr-api/assign/word`, { method: "POST" });

    const hostile = `<script>document.title="x"</script><img src=x `
        + `onerror='document.title="x"'> "quotes" & \u2028 \u202eabc`;
    const words = { ko: "입장이 10분 늦어집니다.", en: hostile };

    for (const [ tier, locale ] of [ [ "queue", "en-US" ], [ "queue", "ko-KR" ],
                                     [ "vwr", "en-US" ], [ "vwr", "ko-KR" ] ])
    {
        const ko = locale === "ko-KR";
        const name = `${tier}, ${locale}`;
        const context = await visitor({ user: ko ? "ben" : "cho", locale,
                                        ...narrow });
        const page = await context.newPage();

        await page.goto(`${config.site}/${tier}/word`);
        await shows(page, "#number", /\d/, `${name}: waits`);
        ok(await page.isHidden("#word"), `${name}: no word yet`);

        const set = went();
        await operator("PUT", "notice/word", words);
        await until(() => page.isVisible("#word"));
        ok(went() - set < 6000 * Number(process.env.TEST_SLOW || 1),
           `${name}: it is there with the next poll`);
        is(await page.textContent("#word-text"), ko ? words.ko : words.en,
           `${name}: the text, as it was written`);
        is(await page.getAttribute("#word-text", "lang"), ko ? "ko" : "en",
           `${name}: its language`);
        like(await page.textContent("#word-at"), /\d+.*\d+:\d\d/,
             `${name}: when it was set`);
        ok(await page.evaluate(() => !document.querySelector("#word img, #word script")),
           `${name}: markup is text`);
        ok(!/^x$/.test(await page.title()), `${name}: nothing of it was run`);
        ok(await fits(page), `${name}, 320 px: nothing sticks out`);

        await operator("DELETE", "notice/word");
        await until(() => page.isHidden("#word"));
        ok(await page.isHidden("#word"), `${name}: then it ends`);
        is(context.seen.errors.join(), "", `${name}: nothing forbidden`);

        await context.close();
    }

    // a word to those who find the line full, and without JavaScript

    await operator("PUT", "notice/full", words);

    const context = await visitor({ user: "dan" });
    const page = await context.newPage();

    await page.goto(config.site + "/queue/full");
    await shows(page, "#word-text", /quotes/, "full: with the word");
    await context.close();

    await operator("PUT", "notice/word", words);

    const plain = await visitor({ javaScriptEnabled: false, ...narrow });
    const old = await plain.newPage();

    for (const event of [ "word", "full" ]) {
        await until(async () => {
            await old.goto(`${config.site}/vwr/${event}?nojs=1`);
            return old.isVisible(".word");
        });
        is(await old.textContent(".word [lang=en]"), words.en,
           `no JavaScript, ${event}: in English, as it was written`);
        is(await old.textContent(".word [lang=ko]"), words.ko,
           `no JavaScript, ${event}: in Korean`);
        like(await old.textContent(".word .when"),
             /^\d{4}-\d\d-\d\d \d\d:\d\d UTC$/,
             `no JavaScript, ${event}: when it was set`);
        is(await old.locator(".word img, .word script").count(), 0,
           `no JavaScript, ${event}: markup is text`);
        ok(await fits(old), `no JavaScript, ${event}, 320 px: nothing sticks out`);
    }
    is(plain.seen.errors.join(), "", "no JavaScript: nothing forbidden");

    await plain.close();
    await operator("DELETE", "notice/word");
}


// Held, with a threshold that would let people in: both tiers say so, with why.

async function held(visitor) {
    await operator("POST", "activate/held");
    await api("ann", "POST", "check/held");
    await fetch(`${config.site}/vwr-api/assign/held`, { method: "POST" });

    const context = await visitor({ user: "ben", ...narrow });
    const queue = await context.newPage();
    const room = await context.newPage();

    await queue.goto(`${config.site}/queue/held`);
    await room.goto(`${config.site}/vwr/held`);
    await shows(queue, "#wait", /^Estimated wait: /, "not held: there is a wait");
    await shows(queue, "#facts", /1 of 1/, "not held: and a threshold");

    await operator("PUT", "notice/held", { en: "Back at noon." });
    await operator("PUT", "hold/held", {});

    for (const [ name, page ] of [ [ "queue", queue ], [ "room", room ] ]) {
        await shows(page, "#wait", /^Entry is paused at the moment$/,
                    `held, ${name}: it says so`);
        await shows(page, "#word-text", /^Back at noon\.$/, `held, ${name}: and why`);
        ok(await fits(page), `held, ${name}, 320 px: nothing sticks out`);
    }

    await operator("DELETE", "hold/held");
    await shows(queue, "#wait", /^Estimated wait: /, "no longer held: a wait again");
    await operator("DELETE", "notice/held");
    is(context.seen.errors.join(), "", "held: nothing forbidden");
    await context.close();
}


async function control(visitor) {
    const context = await visitor(narrow);
    const page = await context.newPage();
    const card = "#event-word";

    await page.goto(config.site + "/control/");
    await page.fill("#secret", config.tokens.admin);
    await page.click("#enter");
    await page.waitForSelector(card);
    await until(() => page.isHidden(`${card} .says`));
    ok(await page.isHidden(`${card} .says`), "control page: no word");

    await page.click(`${card} .word button`);
    ok(await until(async () => await page.isVisible("#text-ko")
                               && await page.isHidden("#ask-field")),
       "control page: asks for texts");
    await page.fill("#text-ko", "곧\n시작합니다.");
    await page.fill("#text-en", `Soon <b>"now"</b>`);
    ok(await fits(page), "control page, 320 px: nothing sticks out");
    await page.click("#yes");
    await shows(page, `${card} .says`, /곧 시작합니다\..*Soon <b>"now"<\/b>.*Shown since/s,
                "control page: shows what pages say");
    is(await page.locator(`${card} .says b`).count(), 0,
       "control page: markup is text");

    const told = await (await fetch(`${config.site}/vwr-api/status/word?lang=en`)).json();
    is(told.notice, `Soon <b>"now"</b>`, "and so do answers");

    await page.click(`${card} .word button`);
    is(await page.inputValue("#text-ko"), "곧 시작합니다.",
       "control page: begins with what there is");
    await page.fill("#text-ko", "");
    await page.fill("#text-en", " ");
    await shows(page, "#ask-words", /the notice ends/, "control page: empty");
    await page.click("#yes");
    await until(() => page.isHidden(`${card} .says`));
    ok(await page.isHidden(`${card} .says`), "control page: it ended");
    await soldIsLost(page);
    is(context.seen.errors.join(), "", "control page: nothing forbidden");

    await context.close();
}


// To set the seats alone would sell once more what is sold.

async function soldIsLost(page) {
    const card = "#event-lost";
    const press = `${card} button:has-text("Sold so far")`;

    await page.waitForSelector(press);
    ok(await page.isHidden(`${card} button:has-text("Seats")`),
       "control page: sold is lost: seats are not what is asked for");
    await page.click(press);
    await shows(page, "#ask-words", /A whole number/, "control page: no guess");
    await page.click("#yes");
    ok(await until(() => page.isVisible("#ask-error")),
       "control page: it has to be said");
    await page.fill("#number", "3");
    await shows(page, "#ask-words", /Of 5 seats in all 2 are left/,
                "control page: says what comes of it");
    ok(await fits(page), "control page, 320 px: nothing sticks out");
    await page.click("#yes");
    await shows(page, card, /3 of 5 seats sold/, "control page: known again");
    ok(await page.isVisible(`${card} button:has-text("Seats")`),
       "control page: and seats may be set");
}
