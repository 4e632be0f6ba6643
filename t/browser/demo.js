"use strict";

const { config, ok, is, like, until, shows, reaches, run } = require("./lib.js");

// The demo, from the landing page to a booked seat.

run(async ({ visitor }) => {
    const context = await visitor();
    const page = await context.newPage();
    const seats = `/seats/${config.event}?row=1`;
    const way = "?return=" + encodeURIComponent(seats);

    await page.goto(config.site + "/");
    await page.click("#book");
    await reaches(page, "/signin" + way, "to sign in");

    await page.fill("#name", "yuna");
    await page.click("button");
    await reaches(page, `/vwr/${config.event}${way}`, "the waiting room");
    await shows(page, "#number", /^[123]\d\d$/, "hundreds ahead");

    // where the browser was, however short a time

    const queue = `${config.site}/queue/${config.event}${way}`;

    ok(await until(() => context.seen.requests.some(
        request => request.url() === queue)), "the queue");

    await reaches(page, seats, "the seats", 60);
    await page.click("text=A2");
    await page.click("#book");
    await shows(page, "#answer", /^Booked: A2, for yuna$/, "booked");

    await page.click("#leave");
    await reaches(page, "/", "and home");
    is(context.seen.errors.join(), "", "no errors");

    await seatsRunOut(context);
    is(context.seen.errors.join(), "", "no errors there either");

    await context.close();
});


// The other event has one seat left, by the walk that was pasted before: Ben is
// in for it.

async function seatsRunOut(context) {
    const page = await context.newPage();
    const of = name => `.person:has(h2:text-is("${name}"))`;
    const press = (name, what) => page.click(`${of(name)} >> text=${what}`);

    await page.goto(config.site + "/people");
    await press("ben", "Join");
    await shows(page, `${of("ben")} .state`, /^In/, "one is in");
    await press("ann", "Join");
    await shows(page, `${of("ann")} .state`,
                /^Waiting, number 1.*the last seats are being booked/,
                "another waits: the last seat is being booked");
    await press("ben", "Book");
    await shows(page, `${of("ben")} .state`, /^Booked/, "it is sold");
    await shows(page, `${of("ann")} .state`, /sold out.*매진/,
                "who waits is told");
    await press("ben", "Join");
    await shows(page, `${of("ben")} .state`, /^Sold out.*매진/,
                "and who would join");
    await page.close();
}
