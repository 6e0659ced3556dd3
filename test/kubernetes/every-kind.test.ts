import assert from "node:assert/strict";
import { test } from "node:test";
import * as engine from "@mooring/engine";
import * as sidecars from "@mooring/sidecars";
import * as store from "@mooring/store";
import { apiVersionOf, groupResource, type KubeObject, type Resource } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { builtinKinds } from "../../packages/standalone/src/builtin/index.ts";
import { isObject, type Schema } from "../../packages/standalone/src/schema/model.ts";
import { decodeObject } from "../../packages/store/src/rest/decode.ts";
import { goEncoding, ownKinds } from "../support/go-encoding.ts";

/** In what these carry of others a null means something, and stays. */
const OTHERS_JSON: ReadonlySet<string> = new Set(["CustomResourceDefinition", "ControllerRevision"]);

/** Deeper fields of a kind are left out of what is made. */
const DEEPEST = 6;

/** Objects as a schema describes them, any fields of which are missing; nothing about what their values mean. */
function anyOf(schema: Schema, depth = 0): fc.Arbitrary<unknown> {
  const { type, properties, items } = schema;
  if (depth > DEEPEST) return fc.constant("deep");
  if (type === "array") return fc.array(anyOf(items ?? {}, depth + 1), { maxLength: 2 });
  if (properties !== undefined) {
    const fields = Object.entries(properties).map(
      ([name, child]) => [name, anyOf(child, depth + 1)] as const,
    );
    return fc.record(Object.fromEntries(fields), { requiredKeys: [], noNullPrototype: true });
  }
  if (type === "object")
    return fc.dictionary(fc.constantFrom("a", "b"), fc.string({ maxLength: 2 }), { noNullPrototype: true });
  if (type === "integer" || type === "number") return fc.nat(9);
  return type === "boolean" ? fc.boolean() : fc.string({ maxLength: 2 });
}

/** A nil slice and an empty one are written alike. */
function withoutEmptyLists(value: unknown): unknown {
  if (Array.isArray(value)) return value.map(withoutEmptyLists);
  if (!isObject(value)) return value;
  const kept = Object.entries(value).filter(([, item]) => !(Array.isArray(item) && item.length === 0));
  return Object.fromEntries(kept.map(([name, item]) => [name, withoutEmptyLists(item)]));
}

test("every kind that controllers read is among those that are tried", async () => {
  const named = (resource: Resource) => `${groupResource(resource)} ${apiVersionOf(resource)}`;
  const tried = new Set([...builtinKinds, ...(await ownKinds())].map(({ resource }) => named(resource)));
  const exported: unknown[] = [store, engine, sidecars].flatMap((each) => Object.values(each));
  const kinds = exported.filter((value) => isObject(value) && "plural" in value) as unknown as Resource[];
  assert.ok(kinds.length > 40, `${kinds.length} kinds`);
  assert.deepEqual(
    kinds.map(named).filter((kind) => !tried.has(kind)),
    [],
  );
});

test("whatever fields an object of any kind has, it comes out of Go's encoding as it went in", async () => {
  const encode = await goEncoding();
  const all = [...builtinKinds, ...(await ownKinds())];
  const kinds = all.filter(({ resource }) => !OTHERS_JSON.has(resource.kind));
  assert.equal(kinds.length, all.length - OTHERS_JSON.size);
  for (const { resource, schema } of kinds) {
    // What is always a list in our types is none of the fields that come out as they went in.
    const decoded = (object: unknown) =>
      withoutEmptyLists(decodeObject(encode(object as KubeObject, resource), resource));
    fc.assert(
      fc.property(anyOf(schema), (object) => {
        assert.deepEqual(decoded(object), withoutEmptyLists(object), resource.kind);
      }),
      { numRuns: howMany({ everyday: 20, deep: 500 }) },
    );
  }
});
