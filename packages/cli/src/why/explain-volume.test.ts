import assert from "node:assert/strict";
import { test } from "node:test";
import {
  MOORING_API_VERSION,
  type NodeAgent,
  NodeAgents,
  Pools,
  ShareManagers,
  VolumeAttachments,
  Volumes,
} from "@mooring/engine";
import { explainVolume } from "./explain-volume.ts";
import { causes } from "./finding.ts";
import { contextOf } from "./kinds.ts";
import { storeOf } from "./testing.ts";

test("a volume whose node has fallen silent does not pass for well, though its ticket is satisfied", async (t) => {
  const store = await storeOf(t, [Volumes, VolumeAttachments, ShareManagers, NodeAgents, Pools]);
  const apiVersion = MOORING_API_VERSION;
  const spec = { size: 1, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwo", nodeID: "node-a" };
  const status = { state: "attached" as const, currentNodeID: "node-a", device: "/dev/loop1" };
  await store.create(Volumes, { apiVersion, kind: "Volume", metadata: { name: "v" }, spec, status });
  const why = async () => causes(await explainVolume(contextOf(store), "v"));
  assert.match((await why())[0]?.message ?? "", /does not exist: no agent serves the volume there/);
  const agent: NodeAgent = { apiVersion, kind: "NodeAgent", metadata: { name: "node-a" }, spec: {} };
  const ready = await store.create(NodeAgents, { ...agent, status: { state: "Ready" } });
  assert.deepEqual(await why(), []);
  const beside = { type: "PoolsRespond", status: "False" as const, reason: "PoolSilent" };
  const silentPool = { ...beside, message: "pool p: it does not respond", lastTransitionTime: "" };
  const current = await store.update(NodeAgents, {
    ...ready,
    status: { state: "Ready", conditions: [silentPool] },
  });
  const [unread] = await why();
  assert.deepEqual([unread?.subject, unread?.message], ["NodeAgent node-a", silentPool.message]);
  const conditions = [
    {
      ...{ type: "Ready", status: "False" as const, reason: "HeartbeatStopped" },
      ...{ message: "not heard of for 52 s", lastTransitionTime: "2026-01-01T00:00:00Z" },
    },
  ];
  await store.update(NodeAgents, { ...current, status: { state: "Suspect", conditions } });
  const [silent, ...more] = await why();
  assert.deepEqual(more, []);
  assert.equal(silent?.state, "waiting");
  assert.equal(silent?.message, "is Suspect: not heard of for 52 s");
  assert.match(silent?.next ?? "", /kubectl taint node node-a node\.kubernetes\.io\/out-of-service=/);
  // A cluster shuts it out by itself, and nobody has to know that the machine is off.
  const rbd = { user: "mooring", pool: "images" };
  const pool = { type: "rbd" as const, mode: "shared" as const, path: "/etc/ceph/ceph.conf", rbd };
  await store.create(Pools, { apiVersion, kind: "Pool", metadata: { name: "p" }, spec: pool });
  const [byItself] = await why();
  assert.match(byItself?.next ?? "", /^start its agent again; or have the volume used elsewhere/);
  assert.doesNotMatch(byItself?.next ?? "", /taint/);
});
