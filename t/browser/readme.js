"use strict";

const { config, ok, is, like, until, shows, reaches, run } =
    require("./lib.js");

run(async ({ visitor }) => {
    await before(await visitor());
    await activate();
    await both(await visitor());
    await operators(await visitor());
});


// what the backend of the tests answers
const shown = (page, uri) =>
    shows(page, "body", new RegExp(`"uri":"${uri}"`), `the site: ${uri}`);


// The waiting room is off.

async function before(context) {
    const page = await context.newPage();

    await page.goto(config.site + "/");
    is(page.url(), config.site + "/", "as ever");
    await shown(page, "/");
    await context.close();
}


async function activate() {
    const response = await fetch(
        `${config.site}/api/admin/vwr/activate/spring-concert`,
        { method: "POST",
          headers: { Authorization: `Bearer ${config.secret}` } });

    is(response.status, 200, "an operator turns it on");

    ok(await until(async () => {
        const answer = await fetch(config.site + "/");
        return answer.status === 403;
    }), "and it is on");
}


// A number, the turn, the site; then the queue, and what is behind it.

async function both(context) {
    const page = await context.newPage();

    await page.goto(config.site + "/");
    ok(context.seen.requests.some(request => request.url().endsWith(
        "/vwr/spring-concert?return=%2F")), "sent to wait");
    await reaches(page, "/", "the turn comes");
    await shown(page, "/");
    is(context.calls("/assign/"), 1, "by one ticket");

    await page.goto(config.site + "/book/");
    await reaches(page, "/book/", "through the queue");
    await shown(page, "/book/");
    is(context.calls("/queue/check/"), 1, "joined once");
    is(context.seen.errors.join(), "", "nothing is wrong");
    await context.close();
}


async function operators(context) {
    const page = await context.newPage();

    await page.goto(config.site + "/admin");
    await page.fill("input[type=password]", config.secret);
    await page.keyboard.press("Enter");
    await shows(page, "main", /Spring Concert/, "the operators' page");
    await context.close();
}
