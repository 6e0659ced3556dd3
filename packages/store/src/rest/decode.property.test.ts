import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { defineResource } from "../object/resource.ts";
import { howMany } from "../testing/sample.ts";
import { decodeObject } from "./decode.ts";

const Things = defineResource({
  group: "example.com",
  version: "v1",
  kind: "Thing",
  plural: "things",
  namespaced: true,
});

/** JSON as Go types are: maps, lists and plain values, null anywhere. */
const withNulls = fc.letrec((tie) => ({
  value: fc.oneof(
    { depthSize: "small" },
    fc.constant(null),
    fc.string({ maxLength: 3 }),
    fc.integer(),
    fc.boolean(),
    fc.array(tie("value"), { maxLength: 4 }),
    tie("map"),
  ),
  map: fc.dictionary(fc.constantFrom("a", "b", "spec", "items", "metadata"), tie("value"), {
    maxKeys: 4,
    noNullPrototype: true,
  }),
})).map;

function nulls(value: unknown): number {
  if (value === null) return 1;
  return typeof value === "object" ? Object.values(value).reduce((sum: number, v) => sum + nulls(v), 0) : 0;
}

/** What is left when every null is taken out, by another way than the decoder's. */
function expected(value: unknown): unknown {
  if (Array.isArray(value)) return value.filter((item) => item !== null).map(expected);
  if (typeof value !== "object" || value === null) return value;
  return Object.fromEntries(
    Object.entries(value)
      .filter(([, item]) => item !== null)
      .map(([field, item]) => [field, expected(item)]),
  );
}

test("whatever a server writes, no null comes in, nothing else is lost, and twice is once", () => {
  fc.assert(
    fc.property(withNulls, (object) => {
      const before = structuredClone(object);
      const decoded = decodeObject(structuredClone(object), Things);
      assert.equal(nulls(decoded), 0);
      assert.deepEqual(decoded, expected(before));
      assert.deepEqual(decodeObject(structuredClone(decoded), Things), decoded);
    }),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  );
});

test("objects of others' shapes keep every null outside of their metadata", () => {
  fc.assert(
    fc.property(withNulls, withNulls, (body, metadata) => {
      const object: Record<string, unknown> = { ...body, metadata };
      const decoded = decodeObject(structuredClone(object), { ...Things, custom: true });
      assert.deepEqual(decoded, { ...object, metadata: expected(metadata) });
    }),
    { numRuns: howMany({ everyday: 500, deep: 5_000 }) },
  );
});
