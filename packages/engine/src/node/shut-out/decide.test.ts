import assert from "node:assert/strict";
import { test } from "node:test";
import type { Lease } from "@mooring/store";
import { LEASE_NODE_LABEL, MOORING_API_VERSION } from "../../api/names.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import { CLUSTER, FENCED_BY, SHUT_OUT, TAKEN_FROM } from "../../leases/decide.ts";
import { volumeObject } from "../../testing/agent.ts";
import { reportNode } from "../../testing/report-node.ts";
import { decide, type ShutOutView } from "./decide.ts";

function agent(state: "Ready" | "Suspect" | "Fenced"): NodeAgent {
  const made: NodeAgent = {
    ...{ apiVersion: MOORING_API_VERSION, kind: "NodeAgent", metadata: { name: "a" }, spec: {} },
    status: { state: "Ready" },
  };
  if (state !== "Ready") reportNode(state)(made);
  return made;
}

function lease(holderIdentity: string, annotations: Record<string, string> = {}): Lease {
  return {
    apiVersion: "coordination.k8s.io/v1",
    kind: "Lease",
    metadata: { name: "l", labels: { [LEASE_NODE_LABEL]: "a" }, annotations },
    spec: { holderIdentity },
  };
}

const BY_CLUSTER = { [FENCED_BY]: CLUSTER };
const HELD = lease("a_1", BY_CLUSTER);
const TAKEN = lease("", { ...BY_CLUSTER, [TAKEN_FROM]: "a_1" });
const OVER = lease("", { ...BY_CLUSTER, [TAKEN_FROM]: "a_1", [SHUT_OUT]: "a" });
const LOST: ShutOutView = {
  volume: volumeObject("v-p-1"),
  ...{ lease: HELD, nodeID: "a", agent: agent("Suspect"), asked: true, missingMs: 0 },
};

const CASES: readonly [why: string, view: Partial<ShutOutView>, step: string][] = [
  ["a lost node's image", {}, "take-lease-away"],
  ["its lease is taken away", { lease: TAKEN }, "shut-out"],
  ["the cluster refuses its writes", { lease: OVER }, "done"],
  ["the lease was deleted by somebody", { lease: undefined }, "take-lease-away"],
  ["the lease of an earlier version, which ends by its time", { lease: lease("a_1") }, "done"],
  [
    "another node was shut out of it before",
    { lease: { ...OVER, spec: { holderIdentity: "a_2" } } },
    "take-lease-away",
  ],
  ["it responds", { agent: agent("Ready") }, "done"],
  ["it is back when its lease is taken", { agent: agent("Ready"), lease: TAKEN }, "done"],
  ["nobody else wants it", { asked: false }, "done"],
  ["nobody else wants it any more when its lease is taken", { asked: false, lease: TAKEN }, "shut-out"],
  ["it is known to be off", { agent: agent("Fenced") }, "take-lease-away"],
  ["somebody has just deleted its NodeAgent", { agent: undefined }, "wait"],
  ["it does not make that anew", { agent: undefined, asked: false, missingMs: 20_000 }, "take-lease-away"],
];

for (const [why, view, step] of CASES)
  test(`shut out: ${why}: ${step}`, () => {
    assert.equal(decide({ ...LOST, ...view }).do, step);
  });

test("shut out: a missing NodeAgent is looked for again when it has been missing for long", () => {
  assert.deepEqual(decide({ ...LOST, agent: undefined, missingMs: 15_000 }), { do: "wait", afterMs: 5000 });
});
