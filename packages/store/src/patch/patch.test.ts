import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { isStatus } from "../object/status-error.ts";
import { applyJsonPatch } from "./json-patch.ts";
import { applyMergePatch, createMergePatch } from "./merge-patch.ts";

test("the examples of RFC 7386, appendix A", () => {
  const cases: [unknown, unknown, unknown][] = [
    [{ a: "b" }, { a: "c" }, { a: "c" }],
    [{ a: "b" }, { b: "c" }, { a: "b", b: "c" }],
    [{ a: "b" }, { a: null }, {}],
    [{ a: "b", b: "c" }, { a: null }, { b: "c" }],
    [{ a: ["b"] }, { a: "c" }, { a: "c" }],
    [{ a: "c" }, { a: ["b"] }, { a: ["b"] }],
    [{ a: { b: "c" } }, { a: { b: "d", c: null } }, { a: { b: "d" } }],
    [{ a: [{ b: "c" }] }, { a: [1] }, { a: [1] }],
    [
      ["a", "b"],
      ["c", "d"],
      ["c", "d"],
    ],
    [{ a: "b" }, ["c"], ["c"]],
    [{ a: "foo" }, null, null],
    [{ a: "foo" }, "bar", "bar"],
    [{ e: null }, { a: 1 }, { e: null, a: 1 }],
    [[1, 2], { a: "b", c: null }, { a: "b" }],
    [{}, { a: { bb: { ccc: null } } }, { a: { bb: {} } }],
  ];
  for (const [target, patch, result] of cases) assert.deepEqual(applyMergePatch(target, patch), result);
});

test("a created merge patch leads from one object to the other", () => {
  const leaf = fc.oneof(fc.string(), fc.integer(), fc.boolean(), fc.array(fc.integer(), { maxLength: 2 }));
  const { object } = fc.letrec((tie) => ({
    value: fc.oneof({ depthSize: "small" }, leaf, tie("object")),
    object: fc.dictionary(fc.constantFrom("a", "b", "c", "__proto__"), tie("value"), { maxKeys: 3 }),
  }));
  const json = object.map((value): unknown => JSON.parse(JSON.stringify(value)));
  fc.assert(
    fc.property(json, json, (from, to) => {
      const patch = createMergePatch(from, to);
      const reached = patch === undefined ? from : applyMergePatch(from, patch);
      assert.equal(canonical(reached), canonical(to));
    }),
  );
});

function canonical(value: unknown): string {
  return JSON.stringify(value, (_key, each: unknown) =>
    typeof each === "object" && each !== null && !Array.isArray(each)
      ? Object.entries(each).sort(([a], [b]) => (a < b ? -1 : 1))
      : each,
  );
}

test("JSON patches that do not fit or are none are refused and change nothing", () => {
  const target = { a: 1, list: [1, 2] };
  const cases: [unknown, "BadRequest" | "Invalid"][] = [
    [{}, "BadRequest"],
    [[{ op: "jump", path: "/a" }], "BadRequest"],
    [[{ op: "add", path: "/a" }], "BadRequest"],
    [[{ op: "move", path: "/a" }], "BadRequest"],
    [[{ op: "remove", path: "/none" }], "Invalid"],
    [[{ op: "test", path: "/a", value: 2 }], "Invalid"],
    [
      [
        { op: "replace", path: "/a", value: 2 },
        { op: "remove", path: "/list/9" },
      ],
      "Invalid",
    ],
  ];
  for (const [patch, reason] of cases) {
    assert.throws(
      () => applyJsonPatch(target, patch),
      (error) => isStatus(error, reason),
      JSON.stringify(patch),
    );
    assert.deepEqual(target, { a: 1, list: [1, 2] });
  }
  assert.deepEqual(applyJsonPatch(target, [{ op: "add", path: "/list/-", value: 3 }]), {
    a: 1,
    list: [1, 2, 3],
  });
});

test("a patch cannot reach a prototype", () => {
  const attack = JSON.parse('{"__proto__": {"polluted": true}}') as unknown;
  applyMergePatch({}, attack);
  assert.throws(() => applyJsonPatch({}, [{ op: "add", path: "/__proto__/polluted", value: true }]));
  assert.equal(({} as Record<string, unknown>)["polluted"], undefined);
});

test("a JSON patch that leads into a text does not fit, and copies do not fill the memory", () => {
  for (const path of ["/a/9", "/a/b", "/a/-", "/n/x", "/list/99999999999"])
    assert.throws(
      () => applyJsonPatch({ a: "text", n: 1, list: [] }, [{ op: "add", path, value: 1 }]),
      (error) => isStatus(error, "Invalid"),
      path,
    );
  const doubling = Array.from({ length: 40 }, (_, at) => ({ op: "copy", from: "", path: `/c${at}` }));
  assert.throws(
    () => applyJsonPatch({ a: 1 }, doubling),
    (error) => isStatus(error, "RequestEntityTooLarge"),
  );
  const whole = [{ op: "copy", from: "/a", path: "/b" }];
  assert.throws(
    () => applyJsonPatch({ a: Array.from({ length: 500_000 }, () => 1) }, whole),
    (error) => isStatus(error, "RequestEntityTooLarge"),
    "more values than a call has room for arguments",
  );
  assert.throws(
    () => applyJsonPatch({ a: { ["k".repeat(4 * 1024 * 1024)]: 1 } }, whole),
    (error) => isStatus(error, "RequestEntityTooLarge"),
    "keys are text as well",
  );
  const many = Array.from({ length: 10_001 }, () => ({ op: "test", path: "/a", value: 1 }));
  assert.throws(
    () => applyJsonPatch({ a: 1 }, many),
    (error) => isStatus(error, "RequestEntityTooLarge"),
  );
});
