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

    await until(() => page.url().includes("/queue/"), 60);
    is(page.url(), `${config.site}/queue/${config.event}${way}`, "the queue");

    await reaches(page, seats, "the seats", 60);
    await page.click("text=A2");
    await page.click("#book");
    await shows(page, "#answer", /^Booked: A2, for yuna$/, "booked");

    await page.click("#leave");
    await reaches(page, "/", "and home");
    is(context.seen.errors.join(), "", "no errors");

    await context.close();
});
