import assert from "node:assert/strict";
import { test } from "node:test";
import { defined, isOutcome } from "@mooring/store";
import { covers, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import type { GroupMember, GroupSnapshot, NodeBarrier } from "../../../api/group-snapshot.ts";
import { ENGINE_FINALIZER } from "../../../api/names.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";
import { decide as decideNode } from "../../../node/group-snapshot/decide.ts";
import { groupObject } from "../../../node/group-snapshot/testing/story.ts";
import { snapshotObject, volumeObject } from "../../../testing/agent.ts";
import { decide } from "./decide.ts";
import type { CoordinatorView } from "./view.ts";

/** Two nodes, `a` and `b`, with a pool of their name and a volume each. */
class Cluster {
  group: GroupSnapshot;
  volumes = new Map<string, Volume>();
  snapshots = new Map<string, Snapshot>();
  busyNodes = new Set<string>();
  sharedPools = new Set<string>();
  nodes: string[];
  readyNodes: Set<string>;

  constructor(nodes = ["a", "b"]) {
    this.nodes = nodes;
    this.readyNodes = new Set(nodes);
    this.group = groupObject("g-1", []);
    this.group.spec.members = nodes.map((node) => ({
      volume: `v-${node}`,
      snapshot: `s-${node}`,
      pool: node,
    }));
    this.group.metadata.finalizers = [ENGINE_FINALIZER];
    for (const node of nodes) {
      const volume = volumeObject(`v-${node}`, { pool: node, nodeID: node });
      volume.status = { state: "attached", currentNodeID: node, ownerID: node, size: 4096 };
      this.volumes.set(volume.metadata.name, volume);
    }
  }

  view(): CoordinatorView {
    const { group, volumes, snapshots, readyNodes, busyNodes, sharedPools, nodes } = this;
    const local = nodes.filter((node) => !sharedPools.has(node));
    const poolNodes = new Map(local.map((node) => [node, node]));
    const now = new Date("2026-01-01T00:00:00Z");
    return { group, claimed: true, volumes, snapshots, readyNodes, busyNodes, poolNodes, sharedPools, now };
  }

  /** Takes the coordinator's steps until it waits; resolves with the state. */
  settle(): string | undefined {
    for (let steps = 0; steps < 20; steps++) {
      const step = decide(this.view());
      if (isOutcome(step)) return this.group.status?.state;
      if (step.do === "record" || step.do === "note") this.group = { ...this.group, status: step.status };
      if (step.do === "create-members") this.create();
      if (step.do === "delete-members") this.snapshots.clear();
      if (step.do === "remove-finalizer") return "gone";
    }
    throw new Error("no rest");
  }

  create(): void {
    for (const { volume, snapshot, pool } of this.group.spec.members) {
      const object = snapshotObject(snapshot, volume);
      object.spec = { volume, pool, group: "g-1" };
      object.status = { readyToUse: false, ownerID: pool };
      this.snapshots.set(snapshot, object);
    }
  }

  report(node: string, report: Partial<NodeBarrier>): void {
    const { status } = this.group;
    assert.ok(status);
    const full: NodeBarrier = { attempt: status.attempt, phase: "prepared", ...report };
    this.group = { ...this.group, status: { ...status, nodes: { ...status.nodes, [node]: full } } };
  }

  all(report: Partial<NodeBarrier>): void {
    for (const node of this.nodes) this.report(node, report);
  }
}

test("two nodes: nobody copies before all are still, nobody goes on before all have copied", () => {
  covers("KEP-002");
  const cluster = new Cluster();
  assert.equal(cluster.settle(), "preparing");
  cluster.report("a", { phase: "prepared" });
  assert.equal(cluster.settle(), "preparing");
  cluster.report("b", { phase: "prepared" });
  assert.equal(cluster.settle(), "quiescing");
  cluster.report("a", { phase: "quiesced" });
  assert.equal(cluster.settle(), "quiescing");
  cluster.report("b", { phase: "quiesced" });
  assert.equal(cluster.settle(), "cutting");
  cluster.report("b", { phase: "cut" });
  assert.equal(cluster.settle(), "cutting");
  cluster.report("a", { phase: "cut" });
  assert.equal(cluster.settle(), "releasing");
  const done = {
    phase: "done",
    heldThroughCut: true,
    pauseMilliseconds: 3,
    methods: { "v-a": "freeze" },
  } as const;
  cluster.report("a", done);
  assert.equal(cluster.settle(), "releasing");
  cluster.report("b", { ...done, pauseMilliseconds: 7 });
  assert.equal(cluster.settle(), "committed");
  const { barrier, creationTime } = cluster.group.status ?? {};
  assert.equal(barrier?.pauseMilliseconds, 7);
  assert.equal(creationTime, barrier?.startTime);
});

test("a member of a shared pool is copied by the node that has it; when it moves, what was reported before counts no more", () => {
  const cluster = new Cluster();
  cluster.sharedPools.add("b");
  const place = (currentNodeID: string): void => {
    const volume = volumeObject("v-b", { pool: "b", nodeID: currentNodeID });
    const state = currentNodeID === "" ? "detached" : "attached";
    volume.status = { state, currentNodeID, ownerID: "b", size: 4096 };
    cluster.volumes.set("v-b", volume);
  };
  const nodes = () => Object.keys(cluster.group.status?.nodes ?? {});
  place("");
  assert.equal(cluster.settle(), "preparing");
  assert.deepEqual(nodes(), [], "nobody prepares before all members have a node");
  place("c");
  assert.equal(cluster.settle(), "preparing");
  assert.deepEqual(nodes(), ["a", "c"]);
  cluster.report("a", { phase: "prepared" });
  place("b");
  cluster.report("c", { phase: "prepared" });
  assert.equal(cluster.settle(), "preparing");
  assert.deepEqual(nodes(), ["a", "b"]);
  cluster.report("b", { phase: "prepared" });
  assert.equal(cluster.settle(), "preparing", "the other node has to prepare again");
  cluster.report("a", { phase: "prepared" });
  assert.equal(cluster.settle(), "quiescing");
  cluster.all({ phase: "quiesced" });
  cluster.report("b", { phase: "failed", interrupted: true, error: { code: "ABORTED", message: "leaving" } });
  place("c");
  assert.equal(cluster.settle(), "preparing");
  assert.deepEqual(nodes(), ["a", "c"]);
});

test("one node that went on too early fails all of it, and every member is removed", () => {
  const cluster = new Cluster();
  cluster.settle();
  cluster.all({ phase: "prepared" });
  cluster.settle();
  cluster.report("a", { phase: "done", heldThroughCut: true });
  cluster.report("b", { phase: "done", heldThroughCut: false });
  assert.equal(cluster.settle(), "failed");
  assert.equal(cluster.snapshots.size, 0);
  assert.equal(cluster.group.status?.error?.code, "FAILED_PRECONDITION");
});

test("an agent that was stopped half-way has the barrier tried again, at most five times", () => {
  const cluster = new Cluster(["a"]);
  for (let attempt = 1; attempt <= 5; attempt++) {
    cluster.settle();
    assert.equal(cluster.group.status?.attempt, attempt);
    cluster.report("a", {
      phase: "failed",
      interrupted: true,
      error: { code: "ABORTED", message: "stopped" },
    });
  }
  assert.equal(cluster.settle(), "failed");
});

test("who did not come to a stop in time is named", () => {
  const cluster = new Cluster();
  cluster.settle();
  cluster.all({ phase: "prepared" });
  cluster.settle();
  cluster.report("a", { phase: "failed", error: { code: "DEADLINE_EXCEEDED", message: "others" } });
  assert.equal(cluster.settle(), "failed");
  assert.match(cluster.group.status?.error?.message ?? "", /v-b on node b/);
});

test("who was late and reports it is believed, whoever else has waited in vain", () => {
  const cluster = new Cluster();
  cluster.settle();
  cluster.all({ phase: "prepared" });
  cluster.settle();
  cluster.report("a", { phase: "failed", error: { code: "DEADLINE_EXCEEDED", message: "others" } });
  cluster.report("b", {
    phase: "failed",
    error: { code: "FAILED_PRECONDITION", message: "the copy of v-b" },
  });
  assert.equal(cluster.settle(), "failed");
  assert.equal(cluster.group.status?.error?.message, "the copy of v-b");
});

test("a barrier waits for another that has one of its nodes", () => {
  const cluster = new Cluster();
  cluster.settle();
  cluster.all({ phase: "prepared" });
  cluster.busyNodes.add("b");
  assert.equal(cluster.settle(), "preparing");
  cluster.busyNodes.clear();
  assert.equal(cluster.settle(), "quiescing");
});

const MANY = Array.from({ length: 101 }, (_, i) => ({ volume: `v-${i}`, snapshot: `s-${i}`, pool: "a" }));
const A = { volume: "v-a", snapshot: "s-a", pool: "a" };
const BAD: [string, GroupMember[], string][] = [
  ["no member", [], "INVALID_ARGUMENT"],
  ["a volume twice", [A, { ...A, snapshot: "s-x" }], "INVALID_ARGUMENT"],
  ["101 members", MANY, "INVALID_ARGUMENT"],
  ["a volume that is not there", [A, { ...A, volume: "v-none", snapshot: "s-x" }], "NOT_FOUND"],
  ["a volume of another pool", [{ ...A, pool: "b" }], "INVALID_ARGUMENT"],
];
for (const [what, members, code] of BAD) {
  test(`${what}: ${code}, and no snapshot is made`, () => {
    const cluster = new Cluster();
    cluster.group.spec.members = members;
    assert.equal(cluster.settle(), "failed");
    assert.equal(cluster.group.status?.error?.code, code);
    assert.equal(cluster.snapshots.size, 0);
  });
}

test("a foreign snapshot of a member's name is left alone", () => {
  const cluster = new Cluster();
  cluster.snapshots.set("s-a", snapshotObject("s-a", "v-other"));
  assert.equal(cluster.settle(), "failed");
  assert.equal(cluster.group.status?.error?.code, "ALREADY_EXISTS");
  assert.ok(cluster.snapshots.has("s-a"));
});

test("ready when every member is, and not ready any more when one is lost", () => {
  covers("KEP-085");
  const cluster = new Cluster(["a"]);
  cluster.settle();
  cluster.all({ phase: "prepared" });
  cluster.settle();
  cluster.all({ phase: "done", heldThroughCut: true });
  assert.equal(cluster.settle(), "committed");
  assert.equal(cluster.group.status?.readyToUse, false);
  const member = cluster.snapshots.get("s-a");
  assert.ok(member);
  member.status = { readyToUse: true, creationTime: cluster.group.status?.creationTime ?? "", ownerID: "a" };
  assert.equal(cluster.settle(), "ready");
  assert.equal(cluster.group.status?.readyToUse, true);
  member.status = { ...member.status, readyToUse: false, error: { code: "DATA_LOSS", message: "gone" } };
  cluster.settle();
  assert.equal(cluster.group.status?.readyToUse, false);
  assert.equal(cluster.group.status?.error?.code, "DATA_LOSS");
});

test("whatever agents and the coordinator do, killed at any time: no copy while somebody writes is ever committed", () => {
  covers("KEP-002");
  type Agent = { phase: NodeBarrier["phase"]; attempt: number; still: boolean };
  const ordinary = fc.constantFrom("coordinator", "a", "b");
  const mishap = fc.constantFrom("kill-a", "kill-b", "late-a");
  const move = fc.oneof({ arbitrary: ordinary, weight: 40 }, { arbitrary: mishap, weight: 1 });
  let commits = 0;
  fc.assert(
    fc.property(fc.array(move, { minLength: 40, maxLength: 90 }), (moves) => {
      const cluster = new Cluster();
      const agents = new Map<string, Agent>();
      /** Nodes whose present attempt was copied while all were still. */
      const good = new Map<string, number>();
      const step = (node: string): void => {
        const agent = agents.get(node);
        const session = agent && { ...agent, error: undefined, report: undefined };
        const next = decideNode({ group: cluster.group, nodeID: node, session });
        const status = cluster.group.status;
        if (next.do === "drop") agents.delete(node);
        if (next.do === "prepare")
          agents.set(node, { attempt: next.attempt, phase: "prepared", still: false });
        if (agent === undefined || status === undefined) {
          if (next.do === "report") cluster.report(node, next.report);
          return;
        }
        if (next.do === "quiesce") Object.assign(agent, { phase: "quiesced", still: true });
        if (next.do === "copy") {
          agent.phase = "cut";
          if (cluster.nodes.every((n) => agents.get(n)?.still === true)) good.set(node, agent.attempt);
        }
        if (next.do === "release") {
          // As the freezing process reports: false when its time was over before.
          Object.assign(agent, { phase: "done", frozen: agent.still, still: false });
        }
        if (next.do === "report") {
          const frozen = (agent as Agent & { frozen?: boolean }).frozen;
          cluster.report(node, {
            ...next.report,
            ...defined({ heldThroughCut: frozen }),
          });
        }
      };
      for (const who of moves) {
        if (who === "coordinator") cluster.settle();
        else if (who.startsWith("kill-")) agents.delete(who.slice(5));
        else if (who === "late-a") Object.assign(agents.get("a") ?? {}, { still: false });
        else step(who);
        const { state, attempt = 0 } = cluster.group.status ?? {};
        if (state === "committed") {
          commits += 1;
          for (const node of cluster.nodes)
            assert.equal(good.get(node), attempt, `${node} was copied while somebody wrote`);
          return;
        }
      }
    }),
    { numRuns: howMany({ everyday: 2_000, deep: 20_000 }) },
  );
  assert.ok(commits > 100, `only ${commits} were committed`);
});
