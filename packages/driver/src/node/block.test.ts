import assert from "node:assert/strict";
import { open, stat } from "node:fs/promises";
import { after, before, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { gone, nodeCalls } from "../testing/node-calls.ts";
import { codeOf, createVolume, MIB, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

test("block volumes: the device itself, writable or not, and its statistics", async () => {
  covers("CSI-084", "CSI-286");
  const choice = { access: "block", mode: "SINGLE_NODE_MULTI_WRITER" } as const;
  const id = await createVolume(world, "block", { ...choice, size: 16n * MIB });
  const { path, undo } = await stage(world, id, choice);
  const [target, reader] = [world.path("block"), world.path("block-ro")];
  await publish(id, path, target, { more: {}, choice });
  assert.equal((await stat(target)).isBlockDevice(), true);
  const handle = await open(target, "r+");
  await handle.write(Buffer.from("raw"), 0, 3, 8192);
  await handle.sync();
  await handle.close();
  assert.equal(
    await codeOf(publish(id, path, reader, { more: { readonly: true }, choice })),
    "FAILED_PRECONDITION",
  );
  const { usage } = await world.client.node.nodeGetVolumeStats({ volumeId: id, volumePath: target });
  assert.deepEqual(
    usage.map((u) => u.total),
    [16n * MIB],
  );
  await world.client.controller.controllerExpandVolume({
    volumeId: id,
    capacityRange: { requiredBytes: 32n * MIB },
  });
  const grown = await world.client.node.nodeExpandVolume({ volumeId: id, volumePath: target });
  assert.equal(grown.capacityBytes, 32n * MIB);
  await unpublish(id, target);
  await publish(id, path, reader, { more: { readonly: true }, choice });
  const locked = await open(reader, "r+").catch(() => undefined);
  if (locked !== undefined) {
    await assert.rejects(locked.write(Buffer.alloc(4096), 0, 4096, 0), { code: "EPERM" });
    await locked.close();
  }
  await unpublish(id, reader);
  assert.equal(await gone(reader), true);
  await undo();
  await remove(id);
});
