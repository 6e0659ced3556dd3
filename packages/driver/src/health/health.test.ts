import assert from "node:assert/strict";
import { truncate } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { v1 } from "@mooring/csi";
import { poolLayout } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { capability, codeOf, createVolume, stage, startWorld, type World } from "../testing/world.ts";

const { VolumeHealthErrorType: Status, StorageHealthErrorType: Storage } = v1;

describe("health of volumes", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  const entries = (health: v1.VolumeHealth | undefined) =>
    (health?.healthStatuses ?? []).map(({ status, reason }) => [status, reason]);
  const seenByController = async (volumeId: string) => {
    const { volumeHealth } = await world.client.controller.controllerGetVolumeHealth({ volumeId });
    assert.equal(volumeHealth?.volumeId, volumeId);
    return entries(volumeHealth);
  };
  const seenByNode = async (volumeId: string, paths: object = {}) => {
    const { volumeHealth } = await world.client.node.nodeGetVolumeHealth({ volumeId, ...paths });
    assert.equal(volumeHealth?.volumeId, volumeId);
    return entries(volumeHealth);
  };
  const listed = async (more: object = {}) => world.client.controller.controllerListVolumeHealth(more);
  const imageOf = (volumeId: string) =>
    join(poolLayout("xfs", join(world.folder, "state", "pools", "default")).images, `${volumeId}.img`);

  test("a volume without a fault has no entry, used or not, and is not in the list", async () => {
    const volumeId = await createVolume(world, "well");
    assert.deepEqual(await seenByController(volumeId), []);
    assert.deepEqual(await seenByNode(volumeId), []);
    const staged = await stage(world, volumeId);
    const targetPath = world.path("well-target");
    const publish = { volumeId, targetPath, stagingTargetPath: staged.path, volumeCapability: capability() };
    await world.client.node.nodePublishVolume(publish);
    const paths = { stagingTargetPath: staged.path, volumePublishPath: targetPath };
    assert.deepEqual(await seenByNode(volumeId), []);
    assert.deepEqual(await seenByNode(volumeId, paths), []);
    // Tried in vain: nothing is known of that path, and that is fine.
    assert.deepEqual(await seenByNode(volumeId, { volumePublishPath: world.path("tried") }), []);
    assert.deepEqual((await listed()).entries, []);
    await world.client.node.nodeUnpublishVolume({ volumeId, targetPath });
    await staged.undo();
    await world.client.controller.deleteVolume({ volumeId });
    assert.equal(await codeOf(seenByController(volumeId)), "NOT_FOUND");
    assert.equal(await codeOf(seenByNode(volumeId)), "NOT_FOUND");
  });

  test("a mount that somebody took away is INACCESSIBLE on the node, where it is asked about", async () => {
    const volumeId = await createVolume(world, "unmounted");
    const staged = await stage(world, volumeId);
    await world.host.exec.run("umount", [staged.path]);
    assert.deepEqual(await seenByNode(volumeId), [[Status.INACCESSIBLE, "NotMounted"]]);
    assert.deepEqual(await seenByNode(volumeId, { stagingTargetPath: staged.path }), [
      [Status.INACCESSIBLE, "NotMounted"],
    ]);
    assert.deepEqual(await seenByNode(volumeId, { volumePublishPath: world.path("other") }), []);
    assert.deepEqual(await seenByController(volumeId), []);
    await staged.undo();
    await world.client.controller.deleteVolume({ volumeId });
  });

  test("a file system that failed under its users: the node reports it at once, the controller when it is recorded", async () => {
    const volumeId = await createVolume(world, "failed", { fsType: "xfs" });
    const staged = await stage(world, volumeId, { fsType: "xfs" });
    await world.host.exec.run("xfs_io", ["-x", "-c", "shutdown -f", staged.path]);
    const failed = [Status.INACCESSIBLE, "FilesystemFailed"];
    assert.deepEqual((await seenByNode(volumeId))[0], failed);
    await eventually("the fault to be recorded", async () => (await seenByController(volumeId)).length > 0);
    assert.deepEqual(await seenByController(volumeId), [failed]);
    assert.deepEqual(
      (await listed()).entries.map(({ volumeId: id }) => id),
      [volumeId],
    );
    await staged.undo();
    await eventually("the repair", async () => (await seenByController(volumeId)).length === 0);
    assert.deepEqual(await seenByNode(volumeId), []);
    await world.client.controller.deleteVolume({ volumeId });
  });

  test("an image that was truncated is DATA_LOSS; the list has two such volumes on two pages", async () => {
    const ids = [await createVolume(world, "truncated-1"), await createVolume(world, "truncated-2")];
    const staged = [];
    for (const id of ids) staged.push(await stage(world, id, { access: "mount" }));
    for (const id of ids) await truncate(imageOf(id), 4096);
    const lost = [Status.DATA_LOSS, "ImageCut"];
    for (const id of ids) {
      await eventually("the loss to be seen", async () =>
        (await seenByController(id)).some(([status]) => status === Status.DATA_LOSS),
      );
      assert.deepEqual((await seenByController(id))[0], lost);
      assert.deepEqual((await seenByNode(id))[0], lost);
    }
    const first = await listed({ maxEntries: 1 });
    const second = await listed({ maxEntries: 1, startingToken: first.nextToken });
    assert.deepEqual(
      [...first.entries, ...second.entries].map(({ volumeId }) => volumeId),
      ids,
    );
    assert.equal(second.nextToken, "");
    assert.equal(await codeOf(listed({ startingToken: "made up" })), "ABORTED");
    for (const one of staged) await one.undo();
    for (const volumeId of ids) await world.client.controller.deleteVolume({ volumeId });
  });

  test("the field rules bind health calls: ids are required, paths absolute", async () => {
    const { controller, node } = world.client;
    assert.equal(await codeOf(controller.controllerGetVolumeHealth({})), "INVALID_ARGUMENT");
    assert.equal(await codeOf(node.nodeGetVolumeHealth({})), "INVALID_ARGUMENT");
    const relative = { volumeId: "v-1", volumePublishPath: "target" };
    assert.equal(await codeOf(node.nodeGetVolumeHealth(relative)), "INVALID_ARGUMENT");
    assert.equal(await codeOf(controller.controllerListVolumeHealth({ maxEntries: -1 })), "INVALID_ARGUMENT");
  });
});

test("health of the node's pools: nothing to report, then a pool whose file system has failed", async () => {
  const world = await startWorld();
  try {
    const { node } = world.client;
    assert.deepEqual((await node.nodeGetStorageHealth({})).backendHealth, []);
    const { mount = "" } = poolLayout("xfs", join(world.folder, "state", "pools", "default")).backing ?? {};
    await world.host.exec.run("xfs_io", ["-x", "-c", "shutdown", mount]);
    const [problem, ...more] = (await node.nodeGetStorageHealth({})).backendHealth;
    assert.deepEqual(more, []);
    assert.equal(problem?.status, Storage.STORAGE_UNREACHABLE);
    assert.match(problem?.reason ?? "", /^Pool(Failed|NotReady)$/);
    assert.match(problem?.message ?? "", /^default: /);
  } finally {
    await world.end();
  }
});
