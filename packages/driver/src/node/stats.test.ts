import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { codeOf, createVolume, MIB, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

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

test("statistics: unknown volumes and paths are NOT_FOUND, whatever the path looks like", async () => {
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
