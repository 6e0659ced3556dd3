import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { isFencedNode, type NodeAgent } from "../../../api/node-agent.ts";
import type { VolumeSpec } from "../../../api/volume.ts";
import { volumeObject } from "../../../testing/agent.ts";
import { node } from "../../arbiter/testing/build-view.ts";
import { Absences } from "./absences.ts";
import { decide, type SharePlan } from "./decide.ts";

type State = NonNullable<NodeAgent["status"]>["state"];

interface Setup {
  users?: string[];
  /** The node that serves it now. */
  serving?: string;
  /** The node that has the device. */
  open?: string;
  owner?: string;
  nodes?: Record<string, State>;
  shared?: boolean;
  vanished?: string[];
  spec?: Partial<VolumeSpec>;
}

const ID = "share-manager-controller-v-p-1";
const ALL: Record<string, State> = { a: "Ready", b: "Ready", c: "Ready" };

function plan({
  users = [],
  serving,
  open,
  owner = "",
  nodes = ALL,
  shared = true,
  spec,
  vanished = [],
}: Setup): SharePlan {
  const volume = volumeObject("v-p-1", { accessMode: "rwx", ...spec });
  volume.status =
    open === undefined
      ? { state: "detached", ownerID: owner }
      : { state: "attached", ownerID: owner, currentNodeID: open };
  const tickets: AttachmentTicket[] = users.map((nodeID) => ({
    id: `csi-${nodeID}`,
    type: "csi-attacher",
    nodeID,
  }));
  if (serving !== undefined) tickets.push({ id: ID, type: "share-manager-controller", nodeID: serving });
  const agents = Object.entries(nodes).map(([name, state]): [string, NodeAgent] => [name, node(name, state)]);
  const sharedBy = shared ? { sharedBy: ["a", "b", "c"] } : {};
  return decide({ volume, tickets, nodes: new Map(agents), vanished: new Set(vanished), ...sharedBy });
}

const server = (setup: Setup): string | undefined => plan(setup).tickets[0]?.wanted?.nodeID;

test("the first workload's ticket brings the share manager's, and the last takes it along", () => {
  covers("LHA-059");
  const first = plan({ users: ["b"] });
  assert.equal(first.tickets[0]?.id, ID);
  assert.deepEqual(first.share, { nodeID: "b", users: ["b"] });
  assert.equal(server({ users: ["b", "c"], serving: "b" }), "b");
  const last = plan({ serving: "b" });
  assert.deepEqual(last.tickets, [{ volume: "v-p-1", type: "share-manager-controller", id: ID }]);
  assert.deepEqual(last.share, { nodeID: "", users: [] });
});

test("workloads come and go on any node; who serves stays where it is", () => {
  covers("LHA-058");
  assert.equal(server({ users: ["c"], serving: "a" }), "a");
  assert.equal(server({ users: ["a", "b", "c"], serving: "c" }), "c");
  assert.deepEqual(plan({ users: ["c", "a", "c"], serving: "b" }).share?.users, ["a", "c"]);
});

test("a volume that somebody has open already is served there, once that node is ready", () => {
  assert.equal(server({ users: ["b", "c"], open: "a" }), "a");
  assert.equal(server({ users: ["b", "c"], open: "a", nodes: { ...ALL, a: "Suspect" } }), "b");
});

test("9089, 9093, 9225: only a server that is known to be unable to write is replaced, by a ready one", () => {
  const lost = (state: State) => ({ ...ALL, a: state });
  assert.equal(server({ users: ["a", "b"], serving: "a", open: "a", nodes: lost("Suspect") }), "a");
  // By the record it has nothing open: its cluster has shut it out, or it has not begun.
  assert.equal(server({ users: ["a", "b"], serving: "a", nodes: lost("Suspect") }), "b");
  assert.equal(server({ users: ["a", "c"], serving: "a", nodes: lost("Fenced") }), "c");
  assert.equal(server({ users: ["a"], serving: "a", nodes: lost("Gone") }), "b");
  const none: Record<string, State> = { a: "Fenced", b: "Suspect", c: "Suspect" };
  assert.equal(server({ users: ["a"], serving: "a", nodes: none }), "a", "nobody else can");
  const unserved = plan({ users: ["a"], nodes: none });
  assert.deepEqual(unserved.tickets, []);
  assert.ok((unserved.afterMs ?? 0) > 0);
});

test("a node whose object was deleted serves on, until nobody has written it again for a while", () => {
  const deleted = { b: "Ready", c: "Ready" } as const;
  const waiting = plan({ users: ["b"], serving: "a", nodes: deleted });
  assert.equal(waiting.tickets[0]?.wanted?.nodeID, "a");
  assert.ok((waiting.afterMs ?? 0) > 0);
  assert.equal(server({ users: ["b"], serving: "a", nodes: deleted, vanished: ["a"] }), "b");
  let now = 0;
  const absences = new Absences(() => now);
  const missing = (present: string[]) => [...absences.update(["a", ""], new Set(present))];
  assert.deepEqual(missing([]), []);
  now = 39_999;
  assert.deepEqual(missing([]), []);
  now = 40_000;
  assert.deepEqual(missing([]), ["a"]);
  assert.deepEqual(missing(["a"]), []);
  assert.deepEqual(missing([]), [], "it has all its time again");
});

test("a state that somebody typed moves no share", () => {
  const typed = (state: State): NodeAgent => ({ ...node("a"), status: { ...node("a").status, state } });
  for (const state of ["Fenced", "Gone"] as const) {
    assert.equal(isFencedNode(node("a", state)), true);
    assert.equal(isFencedNode(typed(state)), false);
  }
});

test("a volume of a local pool is served where its data is, whoever uses it", () => {
  assert.equal(server({ users: ["b"], owner: "a", shared: false }), "a");
  const fenced = { ...ALL, a: "Fenced" as const };
  assert.equal(server({ users: ["b"], owner: "a", serving: "a", shared: false, nodes: fenced }), "a");
});

test("what is for one node, raw, or moves by itself has no share manager", () => {
  for (const spec of [{ accessMode: "rwo" }, { volumeMode: "Block" as const }, { migratable: true }]) {
    const { share, tickets } = plan({ users: ["a"], serving: "a", spec });
    assert.equal(share, undefined);
    assert.equal(tickets[0]?.wanted, undefined);
  }
  assert.equal(server({ users: ["a"], spec: { accessMode: "rox" } }), "a");
});
