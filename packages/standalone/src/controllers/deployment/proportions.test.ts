import assert from "node:assert/strict";
import { test } from "node:test";
import type { ReplicaSet } from "@mooring/store";
import { DESIRED, MAX, shareOut } from "./proportions.ts";

const set = (name: string, replicas: number, desired: number, max: number): ReplicaSet => ({
  ...{ apiVersion: "apps/v1", kind: "ReplicaSet" },
  metadata: { name, annotations: { [DESIRED]: String(desired), [MAX]: String(max) } },
  spec: { replicas, selector: {}, template: {} },
});

/** Sizes once all have followed, and how many changes that took. */
function sharedOut(start: readonly number[], before: { replicas: number; max: number }, replicas: number) {
  const maxSurge = before.max - before.replicas;
  let sets = start.map((size, index) => set(`s${index}`, size, before.replicas, before.max));
  for (let steps = 0; ; steps++) {
    assert.ok(steps <= start.length, "each changes once");
    const scale = shareOut(sets, { replicas, maxSurge, maxUnavailable: 0 }, 0);
    if (scale === undefined) return sets.map(({ spec }) => spec?.replicas);
    const { name } = scale.set.metadata;
    sets = sets.map((each) =>
      each.metadata.name === name ? set(name, scale.replicas, replicas, replicas + maxSurge) : each,
    );
  }
}

test("sets in the middle of a rollout share what is added or taken away by their sizes", () => {
  const of10 = { replicas: 10, max: 13 };
  // The example of Kubernetes' documentation: 8 old and 5 new pods, 10 become 15.
  assert.deepEqual(sharedOut([8, 5], of10, 15), [11, 7]);
  assert.deepEqual(sharedOut([8, 5], of10, 10), [8, 5]);
  assert.deepEqual(sharedOut([8, 5], of10, 5), [5, 3]);
  assert.deepEqual(sharedOut([8, 5], of10, 0), [0, 0]);
  assert.deepEqual(sharedOut([1, 1, 1], { replicas: 3, max: 3 }, 4), [1, 1, 2]);
  assert.deepEqual(sharedOut([1, 1, 1], { replicas: 3, max: 3 }, 2), [0, 1, 1]);
});

test("one set alone, and sets that have followed, are left to the rollout", () => {
  const limits = { replicas: 5, maxSurge: 1, maxUnavailable: 0 };
  assert.equal(shareOut([set("a", 3, 3, 4), set("b", 0, 3, 4)], limits, 0), undefined);
  assert.equal(shareOut([set("a", 3, 5, 6), set("b", 2, 5, 6)], limits, 0), undefined);
});
