import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "@mooring/store";
import fc from "fast-check";
import { LEASE_NODE_LABEL } from "../api/names.ts";
import {
  CLUSTER,
  decideLease,
  FENCED_BY,
  type LeaseView,
  SHUT_OUT,
  TAKEN_FROM,
  writesFor,
} from "./decide.ts";

const lease = (holder: string, more: { takenFrom?: string; transitions?: number } = {}): Lease => ({
  apiVersion: "coordination.k8s.io/v1",
  kind: "Lease",
  metadata: {
    name: "mooring-image-v-1",
    labels: holder === "" ? {} : { [LEASE_NODE_LABEL]: holder.split("_")[0] ?? "" },
    ...(more.takenFrom === undefined ? {} : { annotations: { [TAKEN_FROM]: more.takenFrom } }),
  },
  spec: { holderIdentity: holder, leaseDurationSeconds: 15, leaseTransitions: more.transitions ?? 3 },
});

/** In a pool whose cluster shuts lost nodes out. */
const ofCluster = (holder: string, annotations: Record<string, string> = {}): Lease => {
  const { metadata, ...rest } = lease(holder);
  return { ...rest, metadata: { ...metadata, annotations: { [FENCED_BY]: CLUSTER, ...annotations } } };
};

const view = (more: Partial<LeaseView>): LeaseView => ({
  lease: undefined,
  identity: "b_1",
  nodeID: "b",
  wanted: "b",
  owner: "",
  durationMs: 15_000,
  safetyMs: 4_000,
  unchangedMs: 0,
  now: "2026-01-01T00:00:00.000000Z",
  ...more,
});

/** What there is -> what is written: number of the holding, and from whom it was taken without being given back. */
const TABLE: readonly [string, Partial<LeaseView>, "wait" | { token: number; from?: string }][] = [
  ["nobody ever held it", {}, { token: 1 }],
  ["somebody has deleted ours", { owner: "b" }, { token: 1 }],
  ["somebody has deleted another node's, which has the image", { owner: "a" }, { token: 1, from: "a" }],
  ["it was given back", { lease: lease("") }, { token: 4 }],
  ["it is ours", { lease: lease("b_1") }, { token: 3 }],
  [
    "it is ours, taken and not replaced yet",
    { lease: lease("b_1", { takenFrom: "a_1" }) },
    { token: 3, from: "a_1" },
  ],
  ["somebody else has it", { lease: lease("a_1"), unchangedMs: 14_000 }, "wait"],
  ["it ran out, but clocks differ", { lease: lease("a_1"), unchangedMs: 18_999 }, "wait"],
  ["it is lost beyond doubt", { lease: lease("a_1"), unchangedMs: 19_000 }, { token: 4, from: "a_1" }],
  ["an agent of our name elsewhere has it", { lease: lease("b_2") }, "wait"],
  [
    "a taker gave it back before it had replaced the image",
    { lease: lease("", { takenFrom: "a_1" }) },
    { token: 4, from: "a_1" },
  ],
  [
    "somebody else has it in a cluster, for however long",
    { lease: ofCluster("a_1"), unchangedMs: 9e9 },
    "wait",
  ],
  [
    "an agent of our name has had it in a cluster",
    { lease: ofCluster("b_2"), unchangedMs: 19_000 },
    { token: 4, from: "b_2" },
  ],
  [
    "it was taken from a lost node in a cluster, and nobody knows whether that is shut out",
    { lease: ofCluster("", { [TAKEN_FROM]: "a_1" }) },
    { token: 4, from: "a_1" },
  ],
];

test("in a cluster a node may write until it is shut out, and no time ends that", () => {
  const lost = (annotations: Record<string, string>, holder = ""): number => {
    const { metadata, ...rest } = ofCluster(holder, annotations);
    return writesFor({ ...rest, metadata: { ...metadata, labels: { [LEASE_NODE_LABEL]: "a" } } }, 9e9, 4000);
  };
  assert.equal(lost({}, "a_1"), Number.POSITIVE_INFINITY);
  assert.equal(lost({ [TAKEN_FROM]: "a_1" }), Number.POSITIVE_INFINITY);
  assert.equal(lost({ [TAKEN_FROM]: "a_1", [SHUT_OUT]: "a" }), 0);
  assert.equal(lost({ [SHUT_OUT]: "a" }, "a_1"), Number.POSITIVE_INFINITY, "it has it again");
  assert.equal(lost({ [SHUT_OUT]: "b" }), Number.POSITIVE_INFINITY, "another one was");
});

for (const [name, more, wanted] of TABLE) {
  test(`lease: ${name}`, () => {
    const step = decideLease(view(more));
    if (wanted === "wait") return assert.equal(step.do, "wait");
    assert.ok(step.do === "write");
    assert.equal(step.spec.leaseTransitions, wanted.token);
    assert.equal(step.takenFrom, wanted.from);
  });
}

test("a lease is never taken before its time and the safety have passed, and never without a greater number", () => {
  const identities = fc.constantFrom("", "a_1", "b_1", "b_2");
  fc.assert(
    fc.property(identities, fc.nat(40_000), fc.nat(9), (holder, unchangedMs, transitions) => {
      const step = decideLease(view({ lease: lease(holder, { transitions }), unchangedMs }));
      if (step.do === "wait") return assert.equal(step.milliseconds, 19_000 - unchangedMs);
      if (holder === "b_1") return assert.equal(step.spec.leaseTransitions, transitions);
      assert.ok(holder === "" || unchangedMs >= 19_000);
      assert.equal(step.spec.leaseTransitions, transitions + 1);
      assert.equal(step.takenFrom !== undefined, holder !== "");
    }),
  );
});
