// Both pages where seats run out: the last ones, sold out, and open again.

"use strict";

const { several, config, ok, is, like, shows, reaches, run, api }
    = require("./lib.js");

const words = {
    "en-GB": [/^Sold out$/, /^All seats are sold\. Should there be more/,
              /^All remaining seats are being booked; some may come back$/],
    "ko-KR": [/^매진되었습니다$/, /^모든 좌석이 판매되었습니다/,
              /^남은 좌석은 모두 예매가 진행 중이며, 취소되는 좌석이/]
};

run(async ({ visitor }) => {
    await several(3, Object.keys(words).flatMap(locale => [
        () => queue(visitor, locale), () => room(visitor, locale) ]));
});


const operator = (method, call) => fetch(
    `${config.site}/api/queue/admin/${call}`,
    { method, headers: { Authorization: `Bearer ${config.secret}` } });

async function narrow(page, what) {
    ok(await page.evaluate(() => document.documentElement.scrollWidth <= 320),
       `320 px: ${what}: nothing sticks out`);
}


async function queue(visitor, locale) {
    const [sold, why, last] = words[locale];
    const event = `queue-${locale.toLowerCase()}`;

    await api("ann", "POST", `check/${event}`);

    const context = await visitor({ user: "cho", locale,
                                    viewport: { width: 320, height: 640 } });
    const page = await context.newPage();

    await page.goto(`${config.site}/queue/${event}?return=/plain`);
    await shows(page, "#number", /^1/, `${locale}: who waits`);
    await shows(page, "#wait", last, `${locale}: the last seats`);
    await narrow(page, "the last seats");

    await operator("POST", `complete/${event}?user=ann`);
    await shows(page, "#number", sold, `${locale}: sold out`);
    like(await page.textContent("#wait"), why, `${locale}: in words`);
    like(await page.textContent("#live"), /^(Sold out|매진)/,
         `${locale}: read out`);
    await narrow(page, "sold out");

    // who comes now

    const late = await visitor({ user: "dan", locale });
    const other = await late.newPage();

    await other.goto(`${config.site}/queue/${event}?return=/plain`);
    await shows(other, "#number", sold, `${locale}: who comes later as well`);

    await operator("PUT", `slots/${event}?slots=2`);
    await reaches(page, "/plain", `${locale}: one more: who waited goes on`);
    await shows(other, "#number", /^1/, `${locale}: and the other one waits`);

    is(context.seen.errors.join(), "", `${locale}: no errors`);
    is(late.seen.errors.filter(error => !/409/.test(error)).join(), "",
       `${locale}: of the other neither`);

    await context.close();
    await late.close();
}


async function room(visitor, locale) {
    const [sold, why, last] = words[locale];
    const event = `room-${locale.toLowerCase()}`;

    const context = await visitor({ locale,
                                    viewport: { width: 320, height: 640 } });
    const page = await context.newPage();

    await api("ann", "POST", `check/${event}`);

    await page.goto(`${config.site}/vwr/${event}?return=/plain`);
    await shows(page, "#wait", last, `${locale}: waiting room: the last seats`);
    await narrow(page, "waiting room");

    await operator("POST", `complete/${event}?user=ann`);
    await shows(page, "#number", sold, `${locale}: waiting room: sold out`);
    like(await page.textContent("#wait"), why, `${locale}: in words`);

    const late = await visitor({ locale });
    const other = await late.newPage();

    await other.goto(`${config.site}/vwr/${event}?return=/plain`);
    await shows(other, "#number", sold, `${locale}: without a ticket`);

    await operator("PUT", `slots/${event}?slots=2`);
    await shows(page, "#facts", /1/, `${locale}: one more: numbers again`);
    await shows(other, "#facts", /2/, `${locale}: and the other gets one`);

    await context.close();
    await late.close();
}
