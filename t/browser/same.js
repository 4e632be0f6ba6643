// Says what was done to a script on its way to a page but for what is to be: node
// same.js BEFORE AFTER.  Names that the script declares may be others, and what was
// declared in two statements may be in one.

"use strict";

const fs = require("fs");
const path = require("path");
const acorn = require(path.join(process.env.ADMISSION_NODE_MODULES, "acorn"));

const [ before, after ] = process.argv.slice(2, 4).map(file =>
    acorn.parse(fs.readFileSync(file, "utf8"), { ecmaVersion: 2018 }));

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

    const list = Array.isArray(node.body) ? node.body
        : [ node.init, node.left, ...[].concat(...(node.cases || []).map(
              one => one.consequent)) ];

    list.filter(isNode).forEach(one => {
        if (one.type === "FunctionDeclaration") own.push(one.id.name);
        (one.declarations || []).forEach(two => own.push(...names(two.id)));
    });

    return own;
}

// what a name is: how far out, and which there; side: 0 or 1

function meaning(scopes, side, name) {
    const i = scopes.findIndex(scope => scope[side].includes(name));
    return i < 0 ? `${name}, of the browser`
                 : `${scopes.length - i}.${scopes[i][side].indexOf(name)}`;
}

function same(a, b, scopes, plain) {
    if (!isNode(a) || !isNode(b)) {
        const [ one, two ] = [ a, b ].map(
            value => value instanceof RegExp ? String(value)
                                             : JSON.stringify(value));
        if (one !== two) found.push(`${one} is ${two}`);
        return;
    }

    if (a.name === "undefined" && b.operator === "void") return;

    if (a.type !== b.type) {
        found.push(`${a.type} is ${b.type}`);
        return;
    }

    if (a.type === "Identifier") {
        const [ one, two ] = plain ? [ a.name, b.name ]
            : [ meaning(scopes, 0, a.name), meaning(scopes, 1, b.name) ];

        if (one !== two) found.push(`${a.name} is ${b.name}: ${one}, ${two}`);
        return;
    }

    scopes = [ [ declared(a), declared(b) ], ...scopes ];

    const keys = Object.keys(a).filter(
        key => ![ "type", "start", "end", "raw", "shorthand" ].includes(key));

    for (const key of keys) {
        const plain = (a.type === "Property" && key === "key"
                       || a.type === "MemberExpression" && key === "property")
                      && !a.computed;

        if (!Array.isArray(a[key])) {
            if (key === "value" && a.type === "TemplateElement") {
                same(a.value.cooked, b.value.cooked);
            } else {
                same(a[key], b[key], scopes, plain);
            }
            continue;
        }

        const [ one, two ] = [ statements(a[key]), statements(b[key]) ];

        if (one.length !== two.length) found.push(`${a.type}: not as many`);
        one.forEach((node, i) => same(node, two[i], scopes, false));
    }
}

same(before, after, []);

process.stdout.write([ ...new Set(found) ].map(line => line + "\n").join(""));
