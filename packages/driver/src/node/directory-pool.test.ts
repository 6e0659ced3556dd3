import assert from "node:assert/strict";
import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { nodeCalls } from "../testing/node-calls.ts";
import { codeOf, createVolume, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld({ pool: "directory" });
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

test("a volume of a directory pool is a folder, bound where it is wanted; there is no block device and no file system to make", async () => {
  const { client } = world;
  const id = await createVolume(world, "folder");
  assert.equal(await codeOf(createVolume(world, "block", { access: "block" })), "INVALID_ARGUMENT");
  const { path, undo } = await stage(world, id);
  const targetPath = world.path("folder");
  await publish(id, path, targetPath);
  await writeFile(join(targetPath, "file"), "kept");
  const { usage } = await client.node.nodeGetVolumeStats({ volumeId: id, volumePath: targetPath });
  assert.ok((usage[0]?.total ?? 0n) > 0n);
  await unpublish(id, targetPath);
  await publish(id, path, targetPath, { more: { readonly: true } });
  await assert.rejects(writeFile(join(targetPath, "file"), "no"), { code: "EROFS" });
  await unpublish(id, targetPath);
  await undo();
  const again = await stage(world, id);
  assert.equal(await readFile(join(again.path, "file"), "utf8"), "kept");
  await publish(id, again.path, targetPath);
  // What is mounted shows whose it is, also when the records of this node are lost.
  await rm(join(world.folder, "state", "node-volumes"), { recursive: true });
  await unpublish(id, targetPath);
  assert.deepEqual(await world.host.mounts.at(targetPath), []);
  await again.undo();
  const { snapshot } = await client.controller.createSnapshot({ name: "folder", sourceVolumeId: id });
  await client.controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "" });
  await remove(id);
});
