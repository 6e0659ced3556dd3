import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import { HEARTBEAT_FRESH, isLostNode, type NodeAgent } from "../../api/node-agent.ts";
import { nodeConditions } from "../../api/node-conditions.ts";
import { node } from "../arbiter/testing/build-view.ts";
import { decide, type FencingView } from "./decide.ts";

const silent = (more: Partial<FencingView> = {}): FencingView => ({
  agent: node("a"),
  silentMs: 40_000,
  beaten: true,
  graceMs: 40_000,
  outOfService: false,
  leases: [],
  ...more,
});

/** A state that an operator wrote, without the condition that goes with it. */
function typed(state: "Fenced" | "Gone"): NodeAgent {
  const agent = node("a");
  return { ...agent, status: { ...agent.status, state } };
}

/** What happened to the node -> what is reported of it. */
const TABLE: readonly [string, Partial<FencingView>, string | undefined][] = [
  ["it responds", { silentMs: 39_999 }, undefined],
  ["it responds, and an operator reports that it is off", { silentMs: 0, outOfService: true }, undefined],
  ["it is silent", {}, "Suspect"],
  ["it is silent and has a lease", { leases: [{ image: "v-1", leftMs: 1 }] }, "Suspect"],
  ["it is silent and its lease ran out", { leases: [{ image: "v-1", leftMs: 0 }] }, "Fenced"],
  [
    "one of its leases counts still",
    {
      leases: [
        { image: "v-1", leftMs: 0 },
        { image: "v-2", leftMs: 9 },
      ],
    },
    "Suspect",
  ],
  [
    "the cluster has not shut it out of one image yet",
    {
      leases: [
        { image: "v-1", leftMs: 0 },
        { image: "v-2", leftMs: Number.POSITIVE_INFINITY },
      ],
    },
    "Suspect",
  ],
  ["it is silent, and an operator reports that it is off", { outOfService: true }, "Fenced"],
  ["it reported that it is gone", { agent: node("a", "Gone") }, undefined],
  ["it is fenced", { agent: node("a", "Fenced") }, undefined],
  ["it is called fenced, and has just beaten", { agent: node("a", "Fenced"), silentMs: 0 }, "Suspect"],
  [
    "it is fenced, and we have just come",
    { agent: node("a", "Fenced"), silentMs: 0, beaten: false },
    undefined,
  ],
  ["it reported that it is gone right after a beat", { agent: node("a", "Gone"), silentMs: 0 }, undefined],
  ["somebody typed that it is gone", { agent: typed("Gone"), silentMs: 0 }, "Suspect"],
  ["it is silent, and somebody typed that it is fenced", { agent: typed("Fenced") }, "Suspect"],
  ["it is suspect already", { agent: node("a", "Suspect") }, undefined],
  ["a suspect is reported off", { agent: node("a", "Suspect"), outOfService: true }, "Fenced"],
];

for (const [name, view, state] of TABLE) {
  test(`fencing: ${name} -> ${state ?? "nothing is reported"}`, () => {
    assert.equal(decide(silent(view))?.state, state);
  });
}

test("silence alone never fences a node", () => {
  const states = fc.constantFrom<NonNullable<NodeAgent["status"]>["state"]>("Ready", "Suspect");
  const leases = fc.array(fc.record({ image: fc.constant("v-1"), leftMs: fc.nat() }));
  fc.assert(
    fc.property(states, fc.nat(), leases, (state, silentMs, counted) => {
      const report = decide(silent({ agent: node("a", state), silentMs, leases: counted }));
      if (report?.state !== "Fenced") return;
      assert.ok(counted.length > 0 && counted.every(({ leftMs }) => leftMs === 0));
    }),
  );
});

test("a node is lost when its observer says so, and not when somebody typed that or it responds", () => {
  const after = (state: "Ready" | "Suspect" | "Fenced", reason: string): NodeAgent => {
    const conditions = nodeConditions(undefined, { state, reason, message: "" }, new Date());
    return { ...node("a"), status: { state, conditions } };
  };
  assert.equal(isLostNode(after("Suspect", "HeartbeatStopped")), true);
  assert.equal(isLostNode(after("Fenced", "OutOfService")), true);
  assert.equal(isLostNode(after("Ready", "AgentResponds")), false);
  assert.equal(isLostNode(after("Suspect", HEARTBEAT_FRESH)), false);
  assert.equal(isLostNode(typed("Fenced")), false);
});

test("conditions keep the time at which they changed, and are Fenced only of a node that cannot write", () => {
  const first = new Date("2026-01-01T00:00:00Z");
  const reportOf = (state: "Ready" | "Suspect" | "Fenced") => ({ state, reason: "R", message: "m" });
  const ready = nodeConditions(undefined, reportOf("Ready"), first);
  const suspect = nodeConditions(
    { state: "Ready", conditions: ready },
    reportOf("Suspect"),
    new Date("2026-01-01T00:01:00Z"),
  );
  assert.deepEqual(
    suspect.map(({ type, status, lastTransitionTime }) => [type, status, lastTransitionTime]),
    [
      ["Ready", "Unknown", "2026-01-01T00:01:00Z"],
      ["Fenced", "False", "2026-01-01T00:00:00Z"],
    ],
  );
});
