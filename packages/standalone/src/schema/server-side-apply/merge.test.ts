import assert from "node:assert/strict";
import { test } from "node:test";
import { processorTime } from "@mooring/store/testing";
import type { Schema } from "../model.ts";
import { mergeApplied } from "./merge.ts";

test("a list of which all elements have one key is merged in time that grows with its length only", () => {
  const schema: Schema = {
    type: "array",
    "x-kubernetes-list-type": "map",
    "x-kubernetes-list-map-keys": ["name"],
    items: { type: "object", properties: { name: { type: "string" } } },
  };
  // Built-in kinds have such lists: a variable of a container may be there more than once.
  const live = Array.from({ length: 100_000 }, () => ({ name: "a" }));
  const spent = processorTime();
  const merged = mergeApplied(live, [{ name: "a", value: "1" }], schema);
  assert.deepEqual((merged as unknown[])[0], { name: "a", value: "1" });
  assert.ok(spent() < 3_000);
});
