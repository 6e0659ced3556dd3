import assert from "node:assert/strict";
import { test } from "node:test";
import type { Node, Pod } from "@mooring/store";
import { defined } from "@mooring/store";
import fc from "fast-check";
import { FENCED_CONDITION } from "../lost-node.ts";
import { STOPPED_REASON } from "../node-stopped.ts";
import type { Taint, Toleration } from "../scheduler/taints.ts";
import { decideNodeLife, type NodeLifeStep, type NodeLifeView, UNREACHABLE } from "./decide.ts";
import { Heartbeats } from "./heartbeats.ts";

const NOW = Date.parse("2026-01-01T00:10:00Z");
const ago = (seconds: number) => new Date(NOW - seconds * 1000).toISOString();

interface Given {
  ready?: "True" | "False" | "Unknown";
  reason?: string;
  fenced?: boolean;
  taints?: Taint[];
}

function nodeOf({ ready = "True", reason = "R", fenced, taints }: Given = {}): Node {
  const reported =
    fenced === undefined ? [] : [{ type: FENCED_CONDITION, status: fenced ? "True" : "False" }];
  return {
    apiVersion: "v1",
    kind: "Node",
    metadata: { name: "n" },
    spec: defined({ taints }),
    status: { conditions: [{ type: "Ready", status: ready, reason }, ...reported] },
  };
}

function podOf(more: { tolerations?: Toleration[]; deleting?: boolean; phase?: string } = {}): Pod {
  const { tolerations = [], deleting, phase = "Running" } = more;
  const held = { deletionTimestamp: ago(1), deletionGracePeriodSeconds: 30 };
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", ...(deleting === true ? held : {}) },
    spec: { containers: [], tolerations },
    status: { phase },
  };
}

const unreachable = (seconds: number): Taint[] => [
  { key: UNREACHABLE, effect: "NoSchedule" },
  { key: UNREACHABLE, effect: "NoExecute", timeAdded: ago(seconds) },
];
const off: Taint = {
  ...{ key: "node.kubernetes.io/out-of-service", value: "down", effect: "NoExecute", timeAdded: ago(1) },
};
const bears = (tolerationSeconds: number): Toleration => ({
  ...{ key: UNREACHABLE, operator: "Exists", effect: "NoExecute", tolerationSeconds },
});

function decide(given: Given, more: Partial<NodeLifeView> = {}): NodeLifeStep[] {
  const lost = { silentMs: 40_000, graceMs: 40_000, agentFenced: false, now: NOW };
  return decideNodeLife({ node: nodeOf(given), pods: [], ...lost, ...more });
}
const kinds = (steps: NodeLifeStep[]) => steps.map((step) => step.do);

test("a node that is silent for the whole grace becomes Unknown, and then tainted unreachable", () => {
  assert.deepEqual(kinds(decide({}, { silentMs: 39_999 })), []);
  assert.deepEqual(kinds(decide({}, { silentMs: undefined })), [], "it was not observed yet");
  assert.deepEqual(kinds(decide({})), ["mark-unknown"]);
  const [step] = decide({ ready: "Unknown" });
  assert.deepEqual(step?.do === "taint" && step.taints.map(({ key, effect }) => [key, effect]), [
    [UNREACHABLE, "NoSchedule"],
    [UNREACHABLE, "NoExecute"],
  ]);
  assert.deepEqual(decide({ ready: "Unknown", taints: unreachable(0) }), []);
});

test("a node that has just been made is given the time to say how it is", () => {
  const made: Node = { apiVersion: "v1", kind: "Node", metadata: { name: "n" }, spec: {} };
  assert.deepEqual(decide({}, { node: made, silentMs: undefined }), []);
});

test("a node that is back, or was stopped, loses our taints and keeps an operator's", () => {
  const mine: Taint = { key: "edge", effect: "NoExecute", timeAdded: ago(1) };
  const taints = [...unreachable(9), mine];
  for (const given of [{ ready: "True" }, { ready: "False", reason: STOPPED_REASON }] as const) {
    const steps = decide({ ...given, taints }, { silentMs: 0 });
    assert.deepEqual(steps, [{ do: "taint", taints: [mine] }]);
  }
});

test("a node whose disk is under pressure takes no further pods, and keeps those that it has", () => {
  const pressed = (status: "True" | "False", taints: Taint[] = []): NodeLifeStep[] => {
    const node = nodeOf({ taints });
    const conditions = [...(node.status?.conditions ?? []), { type: "DiskPressure", status }];
    return decide({}, { node: { ...node, status: { conditions } }, silentMs: 0, pods: [podOf()] });
  };
  const taint: Taint = { key: "node.kubernetes.io/disk-pressure", effect: "NoSchedule" };
  assert.deepEqual(pressed("True"), [{ do: "taint", taints: [taint] }]);
  assert.deepEqual(pressed("True", [taint]), []);
  assert.deepEqual(pressed("False", [taint]), [{ do: "taint", taints: [] }]);
});

test("pods are marked for deletion when their tolerationSeconds are over, and not before", () => {
  const at = (seconds: number, pod: Pod) =>
    kinds(decide({ ready: "Unknown", taints: unreachable(seconds) }, { pods: [pod] }));
  assert.deepEqual(at(299, podOf({ tolerations: [bears(300)] })), []);
  assert.deepEqual(at(300, podOf({ tolerations: [bears(300)] })), ["evict"]);
  assert.deepEqual(at(5, podOf({ tolerations: [bears(300), bears(5)] })), ["evict"], "the shortest counts");
  assert.deepEqual(at(0, podOf()), ["evict"]);
  assert.deepEqual(at(9999, podOf({ tolerations: [{ operator: "Exists" }] })), [], "it bears it for ever");
  assert.deepEqual(at(9999, podOf({ phase: "Succeeded" })), [], "it needs nothing any more");
});

test("after a restart of ours an old taint moves nothing until the node was silent anew", () => {
  const pods = [podOf({ tolerations: [bears(300)] })];
  assert.deepEqual(decide({ ready: "Unknown", taints: unreachable(9999) }, { pods, silentMs: 10 }), []);
});

test("a taint of an operator with NoExecute moves pods off a node that responds", () => {
  const taints: Taint[] = [{ key: "edge", effect: "NoExecute", timeAdded: ago(1) }];
  assert.deepEqual(kinds(decide({ taints }, { silentMs: 0, pods: [podOf()] })), ["evict"]);
  assert.deepEqual(
    kinds(decide({ taints: [{ key: "edge", effect: "NoSchedule" }] }, { silentMs: 0, pods: [podOf()] })),
    [],
  );
});

test("a pod that tolerates the taint of `kubectl taint`, which says no time, for some seconds goes after them", () => {
  const undated: Taint = { key: "edge", value: "v", effect: "NoExecute" };
  const tolerations = [{ key: "edge", operator: "Exists", effect: "NoExecute", tolerationSeconds: 5 }];
  const pods = [podOf({ tolerations })];
  const [step, ...more] = decide({ taints: [undated] }, { silentMs: 0, pods });
  assert.deepEqual(more, []);
  assert.ok(step?.do === "taint");
  assert.deepEqual(step.taints, [{ ...undated, timeAdded: ago(0).replace(".000", "") }]);
  const later = (ms: number) => decide({ taints: step.taints }, { silentMs: 0, pods, now: NOW + ms });
  assert.deepEqual(kinds(later(4999)), []);
  assert.deepEqual(kinds(later(5000)), ["evict"]);
});

const REMOVAL: [what: string, given: Given, more: Partial<NodeLifeView>, steps: string[]][] = [
  ["it is silent", { ready: "Unknown", taints: unreachable(0) }, {}, []],
  [
    "it is fenced",
    { ready: "Unknown", taints: unreachable(0), fenced: true },
    { agentFenced: true },
    ["remove"],
  ],
  [
    "an operator has tainted it as off",
    { ready: "Unknown", taints: [...unreachable(0), off] },
    {},
    ["remove"],
  ],
  ["an operator has tainted it, but it responds", { taints: [off] }, { silentMs: 0 }, []],
  [
    "an operator has tainted it, and nothing was heard since our restart",
    { ready: "Unknown", taints: [...unreachable(0), off] },
    { silentMs: 0 },
    [],
  ],
  ["it was stopped", { ready: "False", reason: STOPPED_REASON }, { silentMs: 0 }, ["remove"]],
];

for (const [what, given, more, steps] of REMOVAL) {
  test(`a pod that is being deleted, and ${what}: ${steps.length === 0 ? "it stays" : "its object goes"}`, () => {
    assert.deepEqual(kinds(decide(given, { ...more, pods: [podOf({ deleting: true })] })), steps);
  });
}

test("a pod that a finalizer keeps is removed once", () => {
  const pod = podOf({ deleting: true });
  pod.metadata.deletionGracePeriodSeconds = 0;
  assert.deepEqual(decide({ ready: "False", reason: STOPPED_REASON }, { pods: [pod], silentMs: 0 }), []);
});

test("a node is reported as fenced only while it does not respond", () => {
  const taints = unreachable(0);
  const fence = (given: Given, agentFenced: boolean, silentMs = 40_000) =>
    decide(given, { agentFenced, silentMs })[0];
  assert.deepEqual(fence({ ready: "Unknown", taints }, true), { do: "mark-fenced", fenced: true });
  assert.deepEqual(fence({ ready: "Unknown", taints, fenced: true }, false), {
    do: "mark-fenced",
    fenced: false,
  });
  assert.deepEqual(fence({ ready: "True", fenced: true }, true, 0), { do: "mark-fenced", fenced: false });
  assert.equal(fence({ ready: "Unknown", taints }, true, 0), undefined, "not before we have waited");
});

test("a pod's object is never removed by force while the node may write", () => {
  const arbitrary = fc.record({
    ready: fc.constantFrom("True" as const, "Unknown" as const, "False" as const),
    fenced: fc.option(fc.boolean(), { nil: undefined }),
    isOff: fc.boolean(),
    agentFenced: fc.boolean(),
    silentMs: fc.option(fc.nat(80_000), { nil: undefined }),
  });
  fc.assert(
    fc.property(arbitrary, ({ ready, fenced, isOff, agentFenced, silentMs }) => {
      const taints = [...unreachable(0), ...(isOff ? [off] : [])];
      const given = { ready, taints, ...defined({ fenced }) };
      const steps = decide(given, { agentFenced, silentMs, pods: [podOf({ deleting: true })] });
      if (!kinds(steps).includes("remove")) return;
      assert.ok(ready !== "True" && silentMs !== undefined && silentMs >= 40_000);
      assert.ok(isOff || agentFenced);
    }),
  );
});

test("silence is counted from what we saw, per node, and an interruption of ours is nobody's silence", () => {
  const lease = (name: string, renewTime: string) => ({
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease", metadata: { name }, spec: { renewTime } },
  });
  const heartbeats = new Heartbeats(20_000);
  const observe = (now: number, a: string, b: string) =>
    Object.fromEntries(heartbeats.observe(["a", "b"], [lease("a", a), lease("b", b)], now));
  assert.deepEqual(observe(1000, "1", "1"), { a: 0, b: 0 });
  assert.deepEqual(observe(11_000, "1", "2"), { a: 10_000, b: 0 });
  assert.deepEqual(observe(13_000, "1", "2"), { a: 12_000, b: 2000 });
  assert.deepEqual(observe(90_000, "1", "2"), { a: 0, b: 0 });
});

test("a node whose lease somebody has deleted is silent until its kubelet makes it anew", () => {
  const lease = (uid: string, renewTime: string) => ({
    ...{ apiVersion: "coordination.k8s.io/v1", kind: "Lease" },
    ...{ metadata: { name: "n", uid }, spec: { renewTime } },
  });
  const heartbeats = new Heartbeats(20_000);
  const silence = (now: number, ...leases: ReturnType<typeof lease>[]) =>
    heartbeats.observe(["n"], leases, now).get("n");
  assert.equal(silence(0, lease("u", "1")), 0);
  assert.equal(silence(10_000), 10_000);
  assert.equal(silence(20_000), 20_000);
  assert.equal(silence(30_000, lease("v", "2")), 0);
  const never = new Heartbeats(20_000);
  assert.deepEqual([...never.observe(["x"], [], 0), ...never.observe(["x"], [], 9000)].flat(), [
    "x",
    0,
    "x",
    9000,
  ]);
  assert.deepEqual([...never.observe([], [], 10_000), ...never.observe(["x"], [], 11_000)].flat(), ["x", 0]);
});

test("a lost node with a pod that is to go is marked for whoever can shut it out, until it is back", () => {
  const known = { agentEvicted: false };
  const lost = { ready: "Unknown", taints: unreachable(1) } as const;
  const deleted = [podOf({ deleting: true })];
  const stays = [podOf({ tolerations: [bears(300)] })];
  assert.deepEqual(decide(lost, { ...known, pods: deleted }), [{ do: "mark-evicted", evicted: true }]);
  assert.deepEqual(decide(lost, { ...known, pods: stays }), [], "nobody wants anything of it elsewhere");
  assert.deepEqual(decide(lost, { pods: deleted }), [], "it has no agent");
  assert.deepEqual(decide(lost, { ...known, pods: deleted, silentMs: 0 }), [], "it responds");
  const marked = { agentEvicted: true };
  assert.deepEqual(decide(lost, { ...marked, pods: [] }), [], "it stays marked until it is back");
  assert.deepEqual(decide({}, { ...marked, silentMs: 0 }), [{ do: "mark-evicted", evicted: false }]);
});
