import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { type CsiClient, connect, createServer } from "@mooring/csi";
import {
  createHost,
  ENGINE_FINALIZER,
  MOORING_API_VERSION,
  type VolumeSetSpec,
  VolumeSets,
  Volumes,
} from "@mooring/engine";
import { mutate, type ObjectStore, removeFinalizer, silentLogger } from "@mooring/store";
import { eventually, refusingStore } from "@mooring/store/testing";
import { createDriver } from "../driver.ts";
import { volumeGroupIdOf } from "../names.ts";
import { type Cluster, startCluster } from "../testing/scripted-node.ts";
import { capability, codeOf, failureOf } from "../testing/world.ts";

/** What one call, or one process, has begun, and another one meets. */
let cluster: Cluster;
before(async () => {
  cluster = await startCluster(["a"]);
});
after(() => cluster.end());

const volume = async (name: string): Promise<string> => {
  const request = { name, volumeCapabilities: [capability()] };
  return (await cluster.client.controller.createVolume(request)).volume?.volumeId ?? "";
};
const group = async (name: string, volumeIds: string[]): Promise<string> =>
  (await cluster.client.volumeGroup.createVolumeGroup({ name, volumeIds })).volumeGroup?.volumeGroupId ?? "";
const publishing = (volumeId: string) => ({ volumeId, nodeId: "a", volumeCapability: capability() });
const spec = async (name: string) => (await cluster.store.get(VolumeSets, { name })).spec;

/** Another controller on the same objects, whose store may fail. */
async function withController(
  { store, keepGroupVolumes = false }: { store: ObjectStore; keepGroupVolumes?: boolean },
  use: (client: CsiClient) => Promise<void>,
): Promise<void> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-begun-"));
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const stop = new AbortController();
  const rest = { nodeID: "", mode: "controller", stateDir: folder, logger: silentLogger } as const;
  const options = { store, host: createHost(), keepGroupVolumes, signal: stop.signal, ...rest };
  const server = createServer(createDriver(options), { endpoint });
  await server.start();
  const client = await connect(endpoint, { timeoutMs: 60_000 });
  try {
    await use(client);
  } finally {
    client.close();
    await server.stop(0);
    stop.abort();
    await rm(folder, { recursive: true });
  }
}

test("a repeated publication that fails to read the group leaves the workload its volume", async () => {
  const volumeId = await volume("kept");
  const volumeGroupId = await group("kept", [volumeId]);
  await cluster.client.controller.controllerPublishVolume(publishing(volumeId));
  let reads = 0;
  const store = refusingStore(cluster.store, (method, [resource]) =>
    method === "get" && resource === VolumeSets && ++reads === 2 ? new Error("connection reset") : undefined,
  );
  await withController({ store }, async (client) => {
    reads = 0;
    const { message } = await failureOf(client.controller.controllerPublishVolume(publishing(volumeId)));
    assert.match(message, /connection reset/);
  });
  const { status } = await cluster.client.controller.controllerGetVolume({ volumeId });
  assert.deepEqual(status?.publishedNodeIds, ["a"]);
  await cluster.client.controller.controllerPublishVolume(publishing(volumeId));
  await cluster.client.controller.controllerUnpublishVolume({ volumeId, nodeId: "a" });
  await cluster.client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
});

test("a volume is published while it joins a group: the change is not called off", async () => {
  const volumeId = await volume("joining");
  const name = await group("joining", []);
  const change = { id: "begun", members: [volumeId] };
  await mutate(cluster.store, VolumeSets, { name }, (set) => {
    set.spec.change = change;
  });
  await mutate(cluster.store, Volumes, { name: volumeId }, (joining) => {
    joining.spec.group = { name, change: change.id };
  });
  await cluster.client.controller.controllerPublishVolume(publishing(volumeId));
  assert.deepEqual((await spec(name)).change, change);
  await cluster.client.controller.controllerUnpublishVolume({ volumeId, nodeId: "a" });
});

test("a group whose first CreateVolumeGroup was killed has only what the second one asks for", async () => {
  const name = volumeGroupIdOf("other rules");
  const rules = { pool: "a", maxVolumes: 1, deleteVolumes: false };
  const begun: VolumeSetSpec = { members: [], generation: 0, ...rules };
  const record = { apiVersion: MOORING_API_VERSION, kind: "VolumeSet", metadata: { name } };
  await cluster.store.create(VolumeSets, { ...record, spec: begun });
  const ids = [await volume("rules-a"), await volume("rules-b")];
  const { volumeGroup } = await cluster.client.volumeGroup.createVolumeGroup({
    ...{ name: "other rules", volumeIds: ids },
  });
  const fresh = { generation: "1", maxVolumes: "100", deleteVolumes: "true" };
  assert.deepEqual(volumeGroup?.volumeGroupContext, fresh);
});

test("at a start, a group that cannot be finished blocks no other", async () => {
  const ids = await Promise.all(["stuck-a", "stuck-b"].map(volume));
  const groups: string[] = [];
  for (const [index, id] of ids.entries()) groups.push(await group(`stuck ${index}`, [id]));
  // The first in the order of the list is the one that is stuck.
  const [stuck = "", other = ""] = [...groups].sort();
  const [stuckVolume = "", otherVolume = ""] = [stuck, other].map((name) => ids[groups.indexOf(name)] ?? "");
  cluster.script.ignored.add(stuckVolume);
  for (const name of groups) {
    await mutate(cluster.store, VolumeSets, { name }, (set) => {
      set.spec.deleted = true;
    });
  }
  const present = async (name: string) =>
    (await cluster.store.list(VolumeSets)).items.some(({ metadata }) => metadata.name === name);
  await withController({ store: cluster.store }, async () => {
    await eventually("the other group to be gone", async () => !(await present(other)));
    assert.ok(await present(stuck));
    cluster.script.ignored.delete(stuckVolume);
    await cluster.wake();
    await eventually("the group that was stuck to be gone", async () => !(await present(stuck)));
  });
  const left = (await cluster.store.list(Volumes)).items.map(({ metadata }) => metadata.name);
  assert.ok(!left.includes(otherVolume) && !left.includes(stuckVolume));
});

test("a deletion that was decided before the restart with keep takes no volume", async () => {
  const volumeId = await volume("spared");
  const volumeGroupId = await group("spared", [volumeId]);
  await mutate(cluster.store, VolumeSets, { name: volumeGroupId }, (set) => {
    set.spec.deleted = true;
  });
  const remove = (client: CsiClient) => client.volumeGroup.deleteVolumeGroup({ volumeGroupId });
  await withController({ store: cluster.store, keepGroupVolumes: true }, async (client) => {
    const { code, message } = await failureOf(remove(client));
    assert.equal(code, "FAILED_PRECONDITION");
    assert.ok(message.includes(volumeId), message);
    const { metadata } = await cluster.store.get(Volumes, { name: volumeId });
    assert.equal(metadata.deletionTimestamp, undefined);
  });
  assert.equal(await codeOf(remove(cluster.client)), "OK");
});

test("DeleteVolume leaves alone a volume that is made with the same name while it waits", async () => {
  const name = await volume("remade");
  cluster.script.ignored.add(name);
  const deleted = codeOf(cluster.client.controller.deleteVolume({ volumeId: name }));
  const read = () => cluster.store.get(Volumes, { name });
  await eventually("it to be deleted", async () => (await read()).metadata.deletionTimestamp !== undefined);
  const { apiVersion, kind, spec: old } = await read();
  const again = { apiVersion, kind, metadata: { name, finalizers: [ENGINE_FINALIZER] }, spec: old };
  const removed = removeFinalizer(cluster.store, { resource: Volumes, key: { name } }, ENGINE_FINALIZER);
  await eventually("the name to be free", async () =>
    cluster.store.create(Volumes, again).then(
      () => true,
      () => false,
    ),
  );
  await removed;
  // What is deleted by mistake goes, so that the call comes back either way.
  cluster.script.ignored.delete(name);
  await cluster.wake();
  assert.equal(await deleted, "OK");
  assert.equal((await read()).metadata.deletionTimestamp, undefined);
});
