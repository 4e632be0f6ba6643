// How the pages say how long it takes: node range.js FILE, the script of a page.
// Prints JSON, a line a case: what was asked, and what is said in both languages.

"use strict";

const fs = require("fs");

const text = fs.readFileSync(process.argv[2], "utf8");

const said = name => {
    const [ found ] = text.match(
        new RegExp(`^function ${name}\\(.*?^}$`, "ms")) || [];
    return found || `no function ${name} in the page;`;
};

const source = [ "span", "words", "between" ].map(said).join("\n");
const [ english, korean ] = [ "(en, ko) => en", "(en, ko) => ko" ].map(
    L => new Function(`const L = ${L};\n${source}\nreturn between;`)());

for (const range of JSON.parse(process.argv[3])) {
    process.stdout.write(JSON.stringify(
        [ range, english(range), korean(range) ]) + "\n");
}
