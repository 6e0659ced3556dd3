import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { v1 } from "@mooring/csi";
import { nodeCalls } from "../testing/node-calls.ts";
import { createVolume, failureOf, MIB, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

for (const fsType of ["xfs", "btrfs"]) {
  test(`${fsType} grows while it is written to`, async () => {
    const choice = { fsType };
    const id = await createVolume(world, `grow ${fsType}`, choice);
    const { path, undo } = await stage(world, id, choice);
    const target = world.path(`grow-${fsType}`);
    await publish(id, path, target, { more: {}, choice });
    const total = async () => {
      const { usage, volumeCondition } = await world.client.node.nodeGetVolumeStats({
        volumeId: id,
        volumePath: target,
      });
      assert.equal(volumeCondition?.abnormal, false);
      return usage.find((u) => u.unit === v1.VolumeUsage_Unit.BYTES)?.total ?? 0n;
    };
    const small = await total();
    await world.client.controller.controllerExpandVolume({
      volumeId: id,
      capacityRange: { requiredBytes: 640n * MIB },
    });
    const grow = () => world.client.node.nodeExpandVolume({ volumeId: id, volumePath: target });
    assert.equal((await grow()).capacityBytes, 640n * MIB);
    assert.equal((await grow()).capacityBytes, 640n * MIB);
    assert.ok((await total()) >= small + 300n * MIB);
    await unpublish(id, target);
    await undo();
    await remove(id);
  });
}

test("ext4 in use grows, or says what the kernel misses and grows at the next stage", async () => {
  const choice = { fsType: "ext4" };
  const id = await createVolume(world, "grow ext4 online", { ...choice, size: 64n * MIB });
  const first = await stage(world, id, choice);
  const { controller, node } = world.client;
  await controller.controllerExpandVolume({ volumeId: id, capacityRange: { requiredBytes: 256n * MIB } });
  const grow = await failureOf(node.nodeExpandVolume({ volumeId: id, volumePath: first.path }));
  if (grow.code !== "OK") {
    assert.equal(grow.code, "FAILED_PRECONDITION");
    assert.match(grow.message, /CAP_SYS_RESOURCE/);
  }
  await writeFile(join(first.path, "still"), "usable");
  await first.undo();
  const second = await stage(world, id, choice);
  const { usage } = await node.nodeGetVolumeStats({ volumeId: id, volumePath: second.path });
  assert.ok((usage[0]?.total ?? 0n) > 200n * MIB);
  await second.undo();
  await remove(id);
});

test("ext4 that was grown while detached is larger at the next stage", async () => {
  const choice = { fsType: "ext4" };
  const id = await createVolume(world, "grow ext4", { ...choice, size: 64n * MIB });
  await (await stage(world, id, choice)).undo();
  await world.client.controller.controllerExpandVolume({
    volumeId: id,
    capacityRange: { requiredBytes: 256n * MIB },
  });
  const { path, undo } = await stage(world, id, choice);
  const { usage } = await world.client.node.nodeGetVolumeStats({ volumeId: id, volumePath: path });
  assert.ok((usage[0]?.total ?? 0n) > 200n * MIB);
  await undo();
  await remove(id);
});
