import assert from "node:assert/strict";
import { test } from "node:test";
import { readQuantity } from "@mooring/store";
import fc from "fast-check";
import { builtinKinds } from "../builtin/index.ts";
import { applyDefaults, dropForbiddenNulls } from "./default.ts";
import { hasFormat } from "./formats.ts";
import { clone, isObject, type JsonObject, type Schema } from "./model.ts";
import { patternOf } from "./pattern.ts";
import { prune, unknownFields } from "./prune.ts";
import { compareQuantities, normalizeQuantity } from "./quantity.ts";
import { validateSchema } from "./validate.ts";

const schema: Schema = {
  type: "object",
  required: ["name"],
  properties: {
    name: { type: "string", minLength: 2, maxLength: 4, pattern: "^[a-z]*$" },
    count: { type: "integer", minimum: 1, maximum: 9, default: 3 },
    ratio: { type: "number", exclusiveMinimum: true, minimum: 0, multipleOf: 0.5 },
    mode: { type: "string", enum: ["x", "y"] },
    when: { type: "string", format: "date-time" },
    port: { "x-kubernetes-int-or-string": true },
    maybe: { type: "string", nullable: true },
    map: { type: "object", additionalProperties: { type: "integer" }, maxProperties: 2 },
    set: {
      type: "array",
      "x-kubernetes-list-type": "set",
      items: { type: "string" },
      maxItems: 3,
      minItems: 1,
    },
    deep: { type: "object", default: {}, properties: { flag: { type: "boolean", default: true } } },
    free: {
      type: "object",
      "x-kubernetes-preserve-unknown-fields": true,
      properties: { known: { type: "object", properties: {} } },
    },
    resource: {
      type: "object",
      "x-kubernetes-embedded-resource": true,
      properties: { spec: { type: "object" } },
    },
    one: {
      type: "object",
      properties: { a: { type: "string" }, b: { type: "string" } },
      oneOf: [{ required: ["a"] }, { required: ["b"] }],
    },
  },
};

const wrong: [JsonObject, string][] = [
  [{}, "name: Required value"],
  [{ name: "a" }, 'name: Invalid value: "a": name in body should be at least 2 chars long'],
  [{ name: "abcde" }, "name: Too long: may not be more than 4 bytes"],
  [{ name: "AB" }, `name: Invalid value: "AB": name in body should match '^[a-z]*$'`],
  [{ name: "ab", count: "1" }, 'count: Invalid value: "1": count in body must be of type integer: "string"'],
  [{ name: "ab", count: 1.5 }, 'count: Invalid value: 1.5: count in body must be of type integer: "number"'],
  [{ name: "ab", count: 0 }, "count: Invalid value: 0: count in body should be greater than or equal to 1"],
  [{ name: "ab", ratio: 0 }, "ratio: Invalid value: 0: ratio in body should be greater than 0"],
  [{ name: "ab", ratio: 0.7 }, "ratio: Invalid value: 0.7: ratio in body should be a multiple of 0.5"],
  [{ name: "ab", mode: "z" }, 'mode: Unsupported value: "z": supported values: "x", "y"'],
  [
    { name: "ab", when: "today" },
    'when: Invalid value: "today": when in body must be of type date-time: "today"',
  ],
  [
    { name: "ab", port: true },
    'port: Invalid value: true: port in body must be of type integer,string: "boolean"',
  ],
  [
    { name: "ab", map: { k: "v" } },
    'map[k]: Invalid value: "v": map[k] in body must be of type integer: "string"',
  ],
  [{ name: "ab", map: { a: 1, b: 2, c: 3 } }, "map: Too many: 3: must have at most 2 items"],
  [{ name: "ab", set: ["a", "a"] }, 'set[1]: Duplicate value: "a"'],
  [{ name: "ab", set: [] }, "set: Invalid value: 0: set in body should have at least 1 items"],
  [{ name: "ab", deep: [] }, 'deep: Invalid value: "array": deep in body must be of type object: "array"'],
  [
    { name: "ab", one: {} },
    'one: Invalid value: "": "one" must validate one and only one schema (oneOf). Found none valid',
  ],
  [{ name: "ab", one: { a: "", b: "" } }, "Found 2 valid alternatives"],
];
for (const [value, expected] of wrong) {
  test(`validation: ${JSON.stringify(value)}`, () => {
    const texts = validateSchema(value, schema).map(({ field, body }) => `${field}: ${body}`);
    assert.equal(texts.length, 1, texts.join("\n"));
    assert.ok(texts[0]?.includes(expected), texts[0]);
  });
}

test("unknown fields have paths, and what may be unknown is left alone", () => {
  const value = {
    name: "ab",
    nope: 1,
    map: { k: 1 },
    deep: { flag: false, extra: { a: 1 } },
    free: { any: [{ thing: 1 }], known: { not: 1 } },
    resource: { apiVersion: "v1", kind: "K", metadata: { name: "n" }, spec: {}, status: {} },
  };
  assert.deepEqual(unknownFields(value, schema), ["nope", "deep.extra", "free.known.not", "resource.status"]);
  prune(value, schema);
  assert.deepEqual(value.free, { any: [{ thing: 1 }], known: {} });
  assert.deepEqual(value.resource.metadata, { name: "n" });
});

test("defaults fill what is absent, within what is there", () => {
  const value = { name: "ab", count: null, maybe: null, map: {} };
  dropForbiddenNulls(value, schema);
  applyDefaults(value, schema);
  assert.deepEqual(value, { name: "ab", maybe: null, map: {}, count: 3, deep: { flag: true } });
});

const json = fc.letrec<{ value: unknown }>((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constantFrom(null, true, 1, "x"),
    fc.array(tie("value"), { maxLength: 3 }),
    fc.dictionary(
      fc.constantFrom("name", "map", "deep", "flag", "free", "known", "resource", "spec", "zz"),
      tie("value"),
    ),
  ),
})).value;

test("property: pruning and defaulting twice is the same as once, and pruned objects have nothing unknown", () => {
  fc.assert(
    fc.property(json, (value) => {
      const once = clone(value);
      prune(once, schema);
      applyDefaults(once, schema);
      const twice = clone(once);
      prune(twice, schema);
      applyDefaults(twice, schema);
      assert.deepEqual(twice, once);
      if (isObject(once)) assert.deepEqual(unknownFields(once, schema), []);
    }),
  );
});

const quantities: [string, string | undefined][] = [
  ["1024Mi", "1Gi"],
  ["1Gi", "1Gi"],
  ["0.5", "500m"],
  ["1000m", "1"],
  ["1500Mi", "1500Mi"],
  ["1.5Gi", "1536Mi"],
  ["1000", "1k"],
  ["0", "0"],
  ["-1000", "-1k"],
  ["1e3", "1e3"],
  ["5E", "5E"],
  ["100n", "100n"],
  ["0.1n", "1n"],
  ["512", "512"],
  ["0.5Ki", "512"],
  ["1x", undefined],
  ["", undefined],
  ["1 Gi", undefined],
];
const patterns: [string, string, boolean][] = [
  ["^(?i)(abort|warn)?$", "WARN", true],
  ["(?i)^a$", "b", false],
  ["^(?P<year>\\d{4})$", "2026", true],
  ["\\Aab\\z", "abc", false],
  ["^[a-z\\-]+$", "a-b", true],
  ["^(?s:.)$", "\n", true],
  ["^.$", "😀", true],
  ["^\\(?x$", "(x", true],
];
for (const [source, text, matches] of patterns) {
  test(`pattern ${source} ${matches ? "takes" : "refuses"} ${JSON.stringify(text)}`, () => {
    assert.equal(patternOf(source).test(text), matches);
  });
}

test("quantities are stored in canonical form", () => {
  for (const [text, canonical] of quantities) assert.equal(normalizeQuantity(text), canonical, text);
  assert.equal(compareQuantities("1Gi", "1024Mi"), 0);
  assert.equal(compareQuantities("1G", "1Gi"), -1);
});

test("property: the canonical form of a quantity is the same amount, and its own canonical form", () => {
  const texts = fc
    .tuple(
      fc.integer({ min: -99999, max: 99999 }),
      fc.nat(999),
      fc.constantFrom("", "m", "k", "M", "G", "Ki", "Mi", "Gi", "e3"),
    )
    .map(([whole, fraction, suffix]) => `${whole}.${fraction}${suffix}`);
  fc.assert(
    fc.property(texts, (text) => {
      const canonical = normalizeQuantity(text);
      assert.ok(canonical !== undefined);
      assert.equal(normalizeQuantity(canonical), canonical);
      assert.equal(readQuantity(canonical)?.nano, readQuantity(text)?.nano);
    }),
  );
});

test("every built-in field describes what it is for, and every type of the schemas resolves", () => {
  const seen = new Set<unknown>();
  const visit = (node: Schema, path: string): void => {
    if (seen.has(node.properties)) return;
    if (node.properties !== undefined) seen.add(node.properties);
    for (const [field, child] of Object.entries(node.properties ?? {})) {
      assert.ok(child.description, `${path}.${field}`);
      visit(child, `${path}.${field}`);
      if (child.items !== undefined) visit(child.items, `${path}.${field}[]`);
      if (isObject(child.additionalProperties)) visit(child.additionalProperties, `${path}.${field}{}`);
    }
  };
  for (const kind of builtinKinds) visit(kind.schema, kind.resource.kind);
});

test("base64 is known by its letters and its padding, however long it is", () => {
  const long = "QUFB".repeat(5_000_000);
  const rows: [string, boolean][] = [
    ...(["", "QUFB", "QUE=", "QQ==", "QUFBQQ=="].map((text) => [text, true]) as [string, boolean][]),
    ...(["Q", "QQ=", "Q===", "====", "QQ==QUFB", "QU-B"].map((text) => [text, false]) as [string, boolean][]),
    [long, true],
    [`${long}!AAA`, false],
  ];
  for (const [text, expected] of rows) assert.equal(hasFormat("byte", text), expected, text.slice(-20));
});
