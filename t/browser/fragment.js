// What is behind the "#" of the address that was wanted is there again at the end,
// however it went there.

"use strict";

const { config, ok, is, like, until, shows, reaches, run, api }
    = require("./lib.js");

const LONG = 30;    // s: a page may take its time where the machine does

const FRAGMENT = "#/seats/3?a=1&b=%20c";

run(async ({ visitor }) => {
    await Promise.all([ redirected(visitor), inPlace(visitor) ]);
    await Promise.all([ bothTiers(visitor), bothInPlace(visitor),
                        signedIn(visitor), returned(visitor) ]);
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
const advance = event => admin(`advance/${event}`, { batchSize: 1 });

const image = page => until(() => page.evaluate(() => document.contentType)
    .then(type => type === "image/gif", () => false), LONG);


async function redirected(visitor) {
    await open("shop");

    const context = await visitor();
    const page = await context.newPage();
    const wanted = "/in/shop?x=1" + FRAGMENT;

    await page.goto(config.site + wanted);
    await shows(page, "#facts", /^Your number1N/, "redirected: waits", LONG);
    is(page.url(), config.site + "/vwr/shop?return=%2Fin%2Fshop%3Fx%3D1" + FRAGMENT,
       "redirected: the browser takes it along");
    await page.reload();
    await shows(page, "#facts", /^Your number1N/, "redirected: still", LONG);

    await advance("shop");
    await reaches(page, wanted, "redirected: and is back", LONG);
    ok(await image(page), "redirected: and in");
    is(context.seen.requests.filter(request => /seats/.test(request.url()
           .replace(/#.*/, "") + request.headers().referer)).length, 0,
       "redirected: no server was told");
    is(context.seen.errors.join(), "", "redirected: no errors");
    await context.close();
}


// The address is that of what is wanted, and that of where it goes.

async function inPlace(visitor) {
    await open("placed");

    const context = await visitor();
    const page = await context.newPage();
    const wanted = "/placed/placed?x=1" + FRAGMENT;

    await page.goto(config.site + wanted);
    await shows(page, "#facts", /^Your number1N/, "in place: waits", LONG);
    is(page.url(), config.site + wanted, "in place: the address stays");
    await advance("placed");
    ok(await image(page), "in place: and in");
    is(page.url(), config.site + wanted, "in place: at just that");
    is(await page.evaluate(() => history.length), 2, "in place: one step back");
    await context.close();

    // a form that was denied is not sent again: what is asked for is the page

    const form = await visitor();
    const other = await form.newPage();

    await other.goto(`${config.site}/plain-page`);
    await other.evaluate(action => {
        document.body.innerHTML = `<form method="post" action="${action}"></form>`;
        document.forms[0].submit();
    }, wanted);
    await shows(other, "#facts", /^Your number2N/, "a form: waits", LONG);
    await advance("placed");
    ok(await image(other), "a form: and in");
    is(other.url(), config.site + wanted, "a form: at just that");
    is(form.seen.requests.filter(request => request.method() === "POST"
           && /\/placed\/placed/.test(request.url())).length, 1,
       "a form: it was sent once");
    await form.close();
}


async function bothTiers(visitor) {
    await open("both");
    await api("ann", "POST", "check/both");

    const context = await visitor({ user: "ben" });
    const page = await context.newPage();
    const wanted = "/seats/both?x=1" + FRAGMENT;

    await page.goto(config.site + wanted);
    await shows(page, "#facts", /^Your number1N/, "both tiers: waits", LONG);
    await advance("both");
    await until(() => /\/queue\/both/.test(page.url()), LONG);
    await shows(page, "#number", /^1$/, "both tiers: waits again", LONG);
    await api("ann", "POST", "leave/both");
    await reaches(page, wanted, "both tiers: at just that", LONG);
    ok(await image(page), "both tiers: and in");

    // the queue's page first, which sends to the waiting room's

    await open("turned");
    await page.goto(config.site + "/queue/turned?return=/seats/turned" + FRAGMENT);
    await until(() => /\/vwr\/turned/.test(page.url()), LONG);
    await shows(page, "#facts", /^Your number1N/, "queue first: waits", LONG);
    await advance("turned");
    await reaches(page, "/seats/turned" + FRAGMENT, "queue first: at just that",
                  LONG);
    await context.close();
}


async function bothInPlace(visitor) {
    await open("rows");
    await api("ann", "POST", "check/rows");

    const context = await visitor({ user: "cho" });
    const page = await context.newPage();
    const wanted = "/rows/rows?x=1" + FRAGMENT;

    await page.goto(config.site + wanted);
    await shows(page, "#facts", /^Your number1N/, "both in place: waits", LONG);
    await advance("rows");
    await shows(page, "#label", /^Your place in line$/,
                "both in place: waits again", LONG);
    await api("ann", "POST", "leave/rows");
    ok(await image(page), "both in place: and in");
    is(page.url(), config.site + wanted, "both in place: at just that");
    await context.close();
}


// Who signs in comes back by what was in "return", which has no fragment.

async function signedIn(visitor) {
    const context = await visitor();
    const page = await context.newPage();
    const wanted = "/queue/sign?return=/seats/sign" + FRAGMENT;

    await context.addCookies([ { name: "offer", url: config.site,
                                 value: config.tokens.dan } ]);
    await page.goto(config.site + wanted);
    await until(() => /\/login/.test(page.url()), LONG);
    like(page.url(), /\/login\?return=%2Fqueue%2Fsign%3Freturn%3D%252Fseats%252Fsign$/,
         "to sign in: the fragment stays here");
    await page.click("button");
    await reaches(page, "/seats/sign" + FRAGMENT, "signed in: at just that", LONG);

    // once; who comes by an address without one later on gets to that

    await page.goto(config.site + "/queue/sign?return=/seats/sign");
    await reaches(page, "/seats/sign", "another time: without", LONG);
    await context.close();
}


// An address in "return" has a fragment of its own, and where nothing is wanted
// there is none.

async function returned(visitor) {
    const context = await visitor();
    const page = await context.newPage();

    await page.goto(config.site + "/vwr/idle?return=%2Fin%2Fidle%23own" + "#top");
    await reaches(page, "/in/idle#own", "return= with one: that", LONG);
    await page.goto(config.site + "/vwr/idle#top");
    await reaches(page, "/plain", "nothing wanted: none", LONG);
    await context.close();
}
