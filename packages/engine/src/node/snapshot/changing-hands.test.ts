import assert from "node:assert/strict";
import { access } from "node:fs/promises";
import { test } from "node:test";
import {
  apiVersionOf,
  delay,
  type KubeObject,
  mutate,
  type ObjectKey,
  type Resource,
  waitFor,
} from "@mooring/store";
import { type NodeAgent, NodeAgents } from "../../api/node-agent.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { snapshotObject, until, volumeObject } from "../../testing/agent.ts";
import { type SharedNodes, twoNodes } from "../../testing/two-nodes.ts";

test("a ready snapshot that is deleted while its volume changes hands goes with the node that gets the volume", async (t) => {
  const { store, image } = await twoNodes(t);
  await store.create(Volumes, volumeObject("v-p-1"));
  await until(store, Volumes, "v-p-1", (v) => v.status?.state === "detached");
  await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1"));
  await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
  await until(store, Volumes, "v-p-1", (v) => v.status?.state === "detached" && (v.spec.nodeID ?? "") === "");
  // A third node, which has the volume and does nothing about its snapshots.
  const kind = { apiVersion: apiVersionOf(NodeAgents), kind: NodeAgents.kind };
  await store.create(NodeAgents, { ...kind, metadata: { name: "node-3" }, spec: {} });
  const ready = (agent: NodeAgent): void => {
    agent.status = { state: "Ready", heartbeat: new Date().toISOString() };
  };
  await mutate(store, NodeAgents, { name: "node-3" }, { change: ready, subresource: "status" });
  const give = (ownerID: string) => {
    const put = ({ status }: Volume): void => {
      if (status !== undefined) status.ownerID = ownerID;
    };
    return mutate(store, Volumes, { name: "v-p-1" }, { change: put, subresource: "status" });
  };
  await give("node-3");

  const reads = countReads(store, (resource, name) => resource === Snapshots && name === "s-p-1");
  await store.delete(Snapshots, { name: "s-p-1" });
  // Both agents, and the data service that writes tickets for snapshots.
  await reads.reach(3);
  await give("");
  await waitFor(
    store,
    { resource: Snapshots, key: { name: "s-p-1" } },
    (s) => s === undefined,
    AbortSignal.timeout(60_000),
  );
  await assert.rejects(access(image("node-1", "s-p-1")));
});

/** Counts reads of the store that have returned at least a moment ago, so that what they lead to has begun. */
function countReads(store: SharedNodes["store"], matches: (resource: Resource, name: string) => boolean) {
  const get = store.get.bind(store);
  let count = 0;
  store.get = async <T extends KubeObject>(resource: Resource<T>, key: ObjectKey): Promise<T> => {
    const found = await get(resource, key);
    if (matches(resource as Resource, key.name)) setImmediate(() => (count += 1));
    return found;
  };
  return {
    async reach(least: number): Promise<void> {
      const deadline = AbortSignal.timeout(60_000);
      while (count < least) await delay(5, deadline);
    },
  };
}
