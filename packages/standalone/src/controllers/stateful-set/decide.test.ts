import assert from "node:assert/strict";
import { test } from "node:test";
import { type ControllerRevision, ownerReferenceTo, type StatefulSet } from "@mooring/store";
import { statefulSet } from "../workloads/testing/workloads-world.ts";
import { decide } from "./decide.ts";
import { claimsOf, ordinalsOf, podOf } from "./identity.ts";
import { newRevision } from "./revisions.ts";
import type { StatefulSetView } from "./rollout.ts";

const policy = { persistentVolumeClaimRetentionPolicy: { whenScaled: "Delete" } };

function made(spec: Partial<NonNullable<StatefulSet["spec"]>>): {
  set: StatefulSet;
  update: ControllerRevision;
} {
  const set = statefulSet("db", { replicas: 1, ...spec });
  set.metadata.uid = "set";
  return { set, update: newRevision(set, []) };
}

test("a pod that comes back waits until the claim that goes with the one before has gone", () => {
  const { set, update } = made(policy);
  const before = podOf(set, 0, set.spec?.template ?? {}, update.metadata.name);
  before.metadata.uid = "the pod that the set lost when it was made smaller";
  const [claim] = claimsOf(set, 0);
  assert.ok(claim);
  const view: StatefulSetView = {
    ...{
      set,
      owned: [],
      orphans: [],
      orphanRevisions: [],
      foreignNames: new Set<string>(),
      revisions: [update],
    },
    ...{ nameTaken: false, claims: [{ claim, ordinal: 0 }], refused: false, now: 0 },
  };
  assert.equal(decide(view).do, "create-pod");
  // The garbage collector is about to delete it: the new pod would lose its data with its next restart.
  claim.metadata.ownerReferences = [
    ownerReferenceTo(before, { controller: false, blockOwnerDeletion: false }),
  ];
  const step = decide(view);
  assert.equal(step.do, "write-status");
  assert.ok(step.do === "write-status");
  assert.deepEqual(decide({ ...view, set: { ...set, status: step.status } }), { do: "wait" });
});

test("a set from before there was a limit does not take all memory", () => {
  assert.equal(ordinalsOf(made({ replicas: 2_000_000_000 }).set).length, 10_000);
});
