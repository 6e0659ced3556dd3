import assert from "node:assert/strict";
import { test } from "node:test";
import { type NodeState, node } from "../../cluster/arbiter/testing/build-view.ts";
import { responsibleNode } from "./responsible-node.ts";

const READY: Record<string, NodeState> = { a: "Ready", b: "Ready" };

/** owner, wanted, states of the nodes -> whose agent deals with the volume. */
const TABLE: readonly [string, string, string, Record<string, NodeState>, string | undefined][] = [
  ["nobody has it, nobody wants it", "", "", READY, "a"],
  ["the first node does not respond", "", "", { ...READY, a: "Suspect" }, "b"],
  ["it is wanted somewhere", "", "b", READY, "b"],
  ["a node has it", "b", "b", READY, "b"],
  ["a node has it and is to give it up", "b", "", READY, "b"],
  ["its node is silent: it may still write", "b", "", { ...READY, b: "Suspect" }, "b"],
  ["its node is fenced", "b", "", { ...READY, b: "Fenced" }, "a"],
  ["its node is fenced, but nobody else wants it", "b", "b", { ...READY, b: "Fenced" }, "b"],
  ["its node reported that it is gone", "a", "", { ...READY, a: "Gone" }, "b"],
  ["nobody is there", "", "", { a: "Gone", b: "Suspect" }, undefined],
];

for (const [name, ownerID, nodeID, states, wanted] of TABLE) {
  test(`the agent of ${wanted ?? "no node"} is responsible for a shared volume: ${name}`, () => {
    const agents = new Map(Object.entries(states).map(([id, state]) => [id, node(id, state)]));
    const volume = { spec: { nodeID }, status: { ownerID } };
    assert.equal(responsibleNode({ volume, nodeID: "a", poolNodes: ["a", "b"], agents }), wanted);
  });
}
