// Says what pages/squeeze.awk did to a script but for what it is to do: node
// same.js BEFORE AFTER.  Names that the script declares may be others, each always
// the same one, and what was declared in two statements may be in one.

"use strict";

const fs = require("fs");
const path = require("path");
const acorn = require(path.join(process.env.ADMISSION_NODE_MODULES, "acorn"));

const [ before, after ] = process.argv.slice(2, 4).map(file =>
    acorn.parse(fs.readFileSync(file, "utf8"), { ecmaVersion: 2018 }));

const renamed = new Map();
const back = new Map();
const kept = new Set();
const found = [];

const isNode = value => value && typeof value.type === "string";

// one declaration a statement

function statements(list) {
    return [].concat(...list.map(node =>
        isNode(node) && node.type === "VariableDeclaration"
            ? node.declarations.map(one => ({ ...node, declarations: [ one ] }))
            : [ node ]));
}

// the names that a pattern declares

function names(node) {
    if (!isNode(node)) return [];
    if (node.type === "Identifier") return [ node.name ];
    if (node.type === "Property") return names(node.value);
    if (node.type === "AssignmentPattern") return names(node.left);
    if (node.type === "RestElement") return names(node.argument);
    return [].concat(...(node.properties || node.elements || []).map(names));
}

// what is declared for all of a node

function declared(node) {
    const own = [];

    if (/Function/.test(node.type)) {
        node.params.forEach(one => own.push(...names(one)));
        if (node.id) own.push(node.id.name);
    }

    if (node.type === "CatchClause") own.push(...names(node.param));

    const list = Array.isArray(node.body) ? node.body : [ node.init, node.left ];

    list.filter(isNode).forEach(one => {
        if (one.type === "FunctionDeclaration") own.push(one.id.name);
        (one.declarations || []).forEach(two => own.push(...names(two.id)));
    });

    return own;
}

function same(a, b, known, free) {
    if (!isNode(a) || !isNode(b)) {
        const [ one, two ] = [ a, b ].map(
            value => value instanceof RegExp ? String(value)
                                             : JSON.stringify(value));
        if (one !== two) found.push(`${one} is ${two}`);
        return;
    }

    if (a.type !== b.type) {
        found.push(`${a.type} is ${b.type}`);
        return;
    }

    if (a.type === "Identifier") {
        const { name } = a;

        if (free || !known.has(name)) {
            if (name !== b.name) found.push(`${name} is ${b.name}, not declared`);
            kept.add(name);
            return;
        }

        if (!renamed.has(name)) {
            if (back.has(b.name)) found.push(`${b.name} is two`);
            renamed.set(name, b.name);
            back.set(b.name, name);
        }

        if (renamed.get(name) !== b.name) found.push(`${name} is two`);
        return;
    }

    known = new Set([ ...known, ...declared(a) ]);

    const keys = Object.keys(a).filter(
        key => ![ "type", "start", "end", "raw" ].includes(key));

    for (const key of keys) {
        const plain = (a.type === "Property" && key === "key"
                       || a.type === "MemberExpression" && key === "property")
                      && !a.computed;

        if (!Array.isArray(a[key])) {
            if (key === "value" && a.type === "TemplateElement") {
                same(a.value.cooked, b.value.cooked);
            } else {
                same(a[key], b[key], known, plain);
            }
            continue;
        }

        const [ one, two ] = [ statements(a[key]), statements(b[key]) ];

        if (one.length !== two.length) found.push(`${a.type}: not as many`);
        one.forEach((node, i) => same(node, two[i], known, false));
    }
}

same(before, after, new Set());

for (const name of kept) {
    if (back.has(name) && back.get(name) !== name) found.push(`${name} is both`);
}

process.stdout.write([ ...new Set(found) ].map(line => line + "\n").join(""));
