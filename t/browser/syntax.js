// Says what in a script is newer than 2019: node syntax.js FILE

"use strict";

const fs = require("fs");
const path = require("path");
const acorn = require(path.join(process.env.ADMISSION_NODE_MODULES, "acorn"));

// What came to one of Chrome, Firefox, Safari and Edge after the middle of 2019,
// or never did to EdgeHTML: by a name that nothing else has, or that of a method
// that is called.

const names = new Set([
    "replaceChildren", "replaceAll", "matchAll", "allSettled", "structuredClone",
    "randomUUID", "hasOwn", "findLast", "findLastIndex", "fromEntries", "flatMap",
    "trimStart", "trimEnd", "toSorted", "toReversed", "toSpliced", "groupBy",
    "withResolvers", "globalThis", "queueMicrotask", "WeakRef",
    "FinalizationRegistry", "BroadcastChannel", "ListFormat", "DisplayNames",
    "RelativeTimeFormat", "DurationFormat", "Segmenter", "formatRange",
    "checkVisibility", "showPopover", "startViewTransition", "scheduler",
    "requestIdleCallback", "adoptedStyleSheets", "ResizeObserver",
    "CompressionStream", "URLPattern", "canParse",
]);
const methods = new Set([ "at", "any", "flat", "with", "timeout" ]);

const text = fs.readFileSync(process.argv[2], "utf8");
const found = [];

const told = (node, name) => found.push(`line ${node.loc.start.line}: ${name}`);

const member = node => node.computed ? node.property.value : node.property.name;

function look(node) {
    if (!node || typeof node.type !== "string") return;

    if (node.type === "Identifier" && names.has(node.name)) {
        told(node, node.name);

    } else if (node.type === "MemberExpression" && node.computed
               && names.has(member(node)))
    {
        told(node, member(node));

    } else if (node.type === "CallExpression"
               && node.callee.type === "MemberExpression"
               && methods.has(member(node.callee)))
    {
        told(node, member(node.callee));
    }

    for (const value of Object.values(node)) {
        for (const child of Array.isArray(value) ? value : [ value ]) {
            look(child);
        }
    }
}

try {
    look(acorn.parse(text, { ecmaVersion: 2018, locations: true }));
} catch (error) {
    found.push(`syntax: ${error.message}`);
}

process.stdout.write(found.map(line => line + "\n").join(""));
