import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { howMany } from "../testing/sample.ts";
import { withoutManagers } from "./managers.ts";

/** With what means something in JSON, as it is in field sets: `k:{\"name\":\"a\"}`. */
const text = fc.string({
  unit: fc.constantFrom("a", '"', "\\", "{", "}", "[", "]", ",", ":"),
  maxLength: 12,
});
const fields = fc.letrec((tie) => ({
  map: fc.dictionary(text, fc.oneof(fc.constant({}), tie("map")), { maxKeys: 3, noNullPrototype: true }),
})).map;
/** As of kinds that a server has types for, and as of all others. */
const entry = fc.oneof(
  fc.record({ manager: text, operation: text, fieldsV1: fields }),
  fc.record({ apiVersion: text, fieldsV1: fields, manager: text }),
);

const object = fc.record({
  before: fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }),
  managedFields: fc.option(fc.array(entry, { maxLength: 3 }), { nil: undefined }),
  after: fc.dictionary(text, text, { maxKeys: 2, noNullPrototype: true }),
  spec: fc.record({ text, managedFields: fc.oneof(text, fc.array(text, { minLength: 1 }), fc.integer()) }),
});

test("an object is read as it is without its managers, wherever they are among its fields", () => {
  fc.assert(
    fc.property(fc.array(object, { maxLength: 3 }), (objects) => {
      const sent = objects.map(({ before, managedFields, after, spec }) => ({
        metadata: { ...before, managedFields, ...after },
        spec,
      }));
      const expected = objects.map(({ before, after, spec }) => ({
        metadata: { ...before, ...after },
        spec,
      }));
      assert.equal(withoutManagers(JSON.stringify({ items: sent })), JSON.stringify({ items: expected }));
    }),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  );
});

test("what ends too early is as it was", () => {
  const whole = JSON.stringify({ metadata: { managedFields: [{ manager: 'a "b"', fieldsV1: {} }] } });
  for (let length = whole.indexOf("[") + 12; length < whole.lastIndexOf("]"); length++)
    assert.equal(withoutManagers(whole.slice(0, length)), whole.slice(0, length));
});
