import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { after, before, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { nodeCalls } from "../testing/node-calls.ts";
import { codeOf, createVolume, MIB, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish } = nodeCalls(() => world);

test("statistics of a block volume end when its device does: NOT_FOUND, also while it is still staged", async () => {
  const { client, nodeID } = world;
  const choice = { access: "block" } as const;
  const volumeId = await createVolume(world, "detached", { ...choice, size: 16n * MIB });
  const { path } = await stage(world, volumeId, choice);
  const stats = () => client.node.nodeGetVolumeStats({ volumeId, volumePath: path });
  assert.equal((await stats()).usage[0]?.total, 16n * MIB);
  await client.controller.controllerUnpublishVolume({ volumeId, nodeId: nodeID });
  assert.equal(await codeOf(stats()), "NOT_FOUND");
  await client.node.nodeUnstageVolume({ volumeId, stagingTargetPath: path });
  assert.equal(await codeOf(stats()), "NOT_FOUND");
  await client.controller.deleteVolume({ volumeId });
});

test("statistics of a raw volume are found where a kubelet has mounted its device, and nowhere else", async () => {
  covers("CSI-286");
  const { client, nodeID } = world;
  const choice = { access: "block" } as const;
  const [id, other] = [
    await createVolume(world, "raw", { ...choice, size: 16n * MIB }),
    await createVolume(world, "other", { ...choice, size: 16n * MIB }),
  ];
  const [one, two] = [await stage(world, id, choice), await stage(world, other, choice)];
  const target = world.path("published");
  await publish(id, one.path, target, { more: {}, choice });
  // The global map path: the kubelet binds the device there, under the UID of the pod.
  const mapped = world.path("5f0c5e1e-pod-uid");
  await (await open(mapped, "w")).close();
  const { mounts } = world.host;
  await mounts.bind(target, mapped, { readOnly: false });
  try {
    const stats = (volumeId: string) => client.node.nodeGetVolumeStats({ volumeId, volumePath: mapped });
    assert.equal((await stats(id)).usage[0]?.total, 16n * MIB);
    assert.equal(await codeOf(stats(other)), "NOT_FOUND");
  } finally {
    await mounts.unmount(mapped);
  }
  const { nodeGetVolumeStats } = client.node;
  assert.equal(await codeOf(nodeGetVolumeStats({ volumeId: id, volumePath: mapped })), "NOT_FOUND");
  await unpublish(id, target);
  for (const [volumeId, { undo }] of [
    [id, one],
    [other, two],
  ] as const) {
    await undo();
    await client.controller.controllerUnpublishVolume({ volumeId, nodeId: nodeID });
    await client.controller.deleteVolume({ volumeId });
  }
});

test("statistics: unknown volumes and paths are NOT_FOUND, whatever the path is", async () => {
  const { node } = world.client;
  const id = await createVolume(world, "stats");
  assert.equal(
    await codeOf(node.nodeGetVolumeStats({ volumeId: "v-unknown", volumePath: "some/path" })),
    "NOT_FOUND",
  );
  assert.equal(await codeOf(node.nodeGetVolumeStats({ volumeId: id, volumePath: "/proc" })), "NOT_FOUND");
  assert.equal(await codeOf(node.nodeExpandVolume({ volumeId: id, volumePath: "/proc" })), "NOT_FOUND");
  await world.client.controller.deleteVolume({ volumeId: id });
});
