import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { LocalStore, mutate, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots, type NodeBarrier } from "../../../api/group-snapshot.ts";
import { MOORING_API_VERSION } from "../../../api/names.ts";
import { type NodeAgent, NodeAgents } from "../../../api/node-agent.ts";
import { Pools } from "../../../api/pool.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { Volumes } from "../../../api/volume.ts";
import { groupObject } from "../../../node/group-snapshot/testing/story.ts";
import { engineRegistry, until, volumeObject } from "../../../testing/agent.ts";
import { startServices } from "../index.ts";

const STATUS = { subresource: "status" } as const;
const apiVersion = MOORING_API_VERSION;

/** The data services over a store with two nodes, `a` and `b`, a pool of their name each, and no agent but the test. */
async function world(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-preparation-"));
  const store = await LocalStore.open({ path: join(folder, "store"), registry: engineRegistry() });
  const stop = new AbortController();
  const { signal } = stop;
  let done = Promise.resolve();
  const end = async () => {
    stop.abort();
    await done.catch(() => {});
    await store.close();
    await rm(folder, { recursive: true });
  };
  t.after(() => endAtRest(end));
  const agent = (name: string, state: NonNullable<NodeAgent["status"]>["state"]) =>
    mutate(store, NodeAgents, { name }, { change: (found) => ({ ...found, status: { state } }), ...STATUS });
  for (const name of ["a", "b"]) {
    await store.create(NodeAgents, { apiVersion, kind: "NodeAgent", metadata: { name }, spec: {} });
    await agent(name, "Ready");
    const spec = { type: "xfs" as const, nodeID: name, path: "/nowhere" };
    await store.create(Pools, { apiVersion, kind: "Pool", metadata: { name }, spec });
  }
  ({ done } = await startServices({ store, logger: silentLogger, signal }));
  const made = (node: string) => {
    const status = { state: "attached", currentNodeID: node, ownerID: node, size: 4096 } as const;
    return mutate(
      store,
      Volumes,
      { name: `v-${node}` },
      { change: (volume) => ({ ...volume, status }), ...STATUS },
    );
  };
  const volume = (node: string) =>
    store.create(Volumes, volumeObject(`v-${node}`, { pool: node, nodeID: node }));
  return {
    store,
    agent,
    group: (name: string, test: (group: GroupSnapshot) => boolean) =>
      until(store, GroupSnapshots, name, test),
    create: (name: string, nodes: string[]) => {
      const group = groupObject(name, []);
      group.spec.members = nodes.map((node) => ({
        ...{ volume: `v-${node}`, snapshot: `s-${name}-${node}`, pool: node },
      }));
      return store.create(GroupSnapshots, group);
    },
    /** A volume that its node is to have open; `made`: it has. */
    volume,
    made,
    report: (name: string, node: string, report: NodeBarrier) =>
      mutate(
        store,
        GroupSnapshots,
        { name },
        {
          change: ({ status }) => {
            if (status?.nodes !== undefined) status.nodes[node] = report;
          },
          ...STATUS,
        },
      ),
    /** What the agent of a node does before it reports that it has prepared. */
    copier: async (name: string, node: string) => {
      const snapshot = `s-${name}-${node}`;
      await until(store, Snapshots, snapshot, () => true);
      const status = { readyToUse: false, ownerID: node };
      await mutate(
        store,
        Snapshots,
        { name: snapshot },
        { change: (found) => ({ ...found, status }), ...STATUS },
      );
    },
  };
}

const inState = (state: string, attempt: number) => (group: GroupSnapshot) =>
  group.status?.state === state && group.status.attempt === attempt;

test("a group that is interrupted and then silent does not keep its nodes from another", async (t) => {
  const { copier, create, group, made, report, volume } = await world(t);
  for (const node of ["a", "b"]) await volume(node).then(() => made(node));
  await create("g-1", ["a", "b"]);
  for (const node of ["a", "b"]) await copier("g-1", node);
  for (const node of ["a", "b"]) await report("g-1", node, { attempt: 1, phase: "prepared" });
  await group("g-1", inState("quiescing", 1));
  await create("g-2", ["a"]);
  await copier("g-2", "a");
  await report("g-2", "a", { attempt: 1, phase: "prepared" });
  const error = { code: "ABORTED", message: "stopped" };
  await report("g-1", "b", { attempt: 1, phase: "failed", interrupted: true, error });
  await group("g-1", inState("preparing", 2));
  const { status } = await group("g-2", inState("quiescing", 1));
  assert.equal(status?.nodes?.["a"]?.phase, "prepared");
});

test("a volume that is not made yet is named while its group waits for it", async (t) => {
  const { create, group, made, volume } = await world(t);
  await volume("a");
  await create("g-1", ["a"]);
  const { status } = await group("g-1", (found) => found.status?.error !== undefined);
  assert.equal(status?.error?.message, "volume v-a is not ready yet");
  assert.equal(status?.readyToUse, false);
  await made("a");
  const begun = await group("g-1", inState("preparing", 1));
  assert.equal(begun.status?.error, undefined);
  assert.deepEqual(Object.keys(begun.status?.nodes ?? {}), ["a"]);
});

test("whose agent is away is named with its volume, until it is back", async (t) => {
  const { agent, create, copier, group, made, report, volume } = await world(t);
  for (const node of ["a", "b"]) await volume(node).then(() => made(node));
  await agent("b", "Suspect");
  await create("g-1", ["a", "b"]);
  const named = await group("g-1", ({ status }) => status?.error !== undefined);
  assert.equal(named.status?.error?.message, "volume v-b on node b: its agent does not respond");
  assert.equal(named.status?.state, "preparing");
  await copier("g-1", "a");
  await report("g-1", "a", { attempt: 1, phase: "prepared" });
  await agent("b", "Ready");
  await group("g-1", ({ status }) => status?.error === undefined);
  await copier("g-1", "b");
  await report("g-1", "b", { attempt: 1, phase: "prepared" });
  await group("g-1", inState("quiescing", 1));
});

test("who lives but takes unusually long is named as well", async (t) => {
  const { create, copier, group, made, report, volume } = await world(t);
  for (const node of ["a", "b"]) await volume(node).then(() => made(node));
  await create("g-1", ["a", "b"]);
  await copier("g-1", "a");
  await report("g-1", "a", { attempt: 1, phase: "prepared" });
  const { status } = await group("g-1", (found) => found.status?.error !== undefined);
  assert.equal(status?.error?.message, "volume v-b on node b: it is not prepared yet");
});
