import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { gone, nodeCalls } from "../testing/node-calls.ts";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  MIB,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

for (const fsType of ["ext4", "xfs", "btrfs"]) {
  test(`data on ${fsType} outlives unstage, detach and restart; it is made once`, async () => {
    covers("CSI-008", "CSI-009", "CSI-084");
    const choice = { fsType };
    const id = await createVolume(world, `data ${fsType}`, choice);
    const first = await stage(world, id, choice);
    const target = world.path(`target-${fsType}`);
    await publish(id, first.path, target, { more: {}, choice });
    const [top] = (await world.host.mounts.at(target)).slice(-1);
    assert.equal(top?.fsType, fsType);
    const content = randomBytes(100_000);
    await writeFile(join(target, "data"), content);
    await unpublish(id, target);
    assert.equal(await gone(target), true);
    await first.undo();
    await world.restart();
    const second = await stage(world, id, choice);
    assert.deepEqual(await readFile(join(second.path, "data")), content);
    await second.undo();
    await remove(id);
  });
}

test("staging: idempotent, and every row of its error table", async () => {
  covers("CSI-247", "CSI-251", "CSI-256", "CSI-257", "CSI-259", "CSI-260", "CSI-263", "CSI-265");
  const { node, controller } = world.client;
  const id = await createVolume(world, "staging");
  const path = world.path("staging");
  const stageAgain = (more: object = {}) =>
    node.nodeStageVolume({
      volumeId: id,
      stagingTargetPath: path,
      volumeCapability: capability(),
      ...more,
    });
  await mkdir(path);
  assert.equal(await codeOf(stageAgain()), "FAILED_PRECONDITION");
  await controller.controllerPublishVolume({
    volumeId: id,
    nodeId: world.nodeID,
    volumeCapability: capability(),
  });
  await stageAgain();
  await stageAgain();
  assert.equal((await world.host.mounts.at(path)).length, 1);
  assert.equal(
    await codeOf(stageAgain({ volumeCapability: capability({ mode: "SINGLE_NODE_MULTI_WRITER" }) })),
    "ALREADY_EXISTS",
  );
  assert.equal(await codeOf(stageAgain({ stagingTargetPath: world.path("other") })), "FAILED_PRECONDITION");
  assert.equal(await codeOf(stageAgain({ volumeId: "v-unknown" })), "NOT_FOUND");
  for (const bad of ["relative/path", "/", "/etc", "/a/../b"]) {
    assert.equal(await codeOf(stageAgain({ stagingTargetPath: bad })), "INVALID_ARGUMENT", bad);
  }
  const flags = (mountFlags: string[]) => stageAgain({ volumeCapability: capability({ mountFlags }) });
  for (const flag of ["bind", "remount", "noatime,loop", "-o", "a b", ""]) {
    assert.equal(await codeOf(flags([flag])), "INVALID_ARGUMENT", flag);
  }
  await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
  await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
  const unknown = node.nodeUnstageVolume({ volumeId: "v-unknown", stagingTargetPath: path });
  assert.equal(await codeOf(unknown), "NOT_FOUND");
  const secret = await failureOf(flags(["hunter2"]));
  assert.equal(secret.code, "INVALID_ARGUMENT");
  assert.doesNotMatch(secret.message, /hunter2/);
  await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
  await remove(id);
});

test("data that nobody of ours wrote is not formatted over", async () => {
  const choice = { fsType: "ext4" };
  const id = await createVolume(world, "foreign data", { ...choice, size: 16n * MIB });
  const { controller, node } = world.client;
  await controller.controllerPublishVolume({
    volumeId: id,
    nodeId: world.nodeID,
    volumeCapability: capability(choice),
  });
  const device = (await world.loopOf(id))?.path ?? "";
  await world.host.exec.run("dd", ["if=/dev/urandom", `of=${device}`, "bs=4096", "count=4", "conv=fsync"]);
  const path = world.path("foreign-data");
  const staging = () =>
    node.nodeStageVolume({ volumeId: id, stagingTargetPath: path, volumeCapability: capability(choice) });
  assert.equal(await codeOf(staging()), "FAILED_PRECONDITION");
  assert.equal(await codeOf(staging()), "FAILED_PRECONDITION");
  await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
  await remove(id);
});

test("the same secrets may come with every call, and are in no log line", async () => {
  covers("CSI-037", "CSI-040", "CSI-333");
  const { controller, node } = world.client;
  const secrets = { "user.key_1": "hunter2-secret", other: "aHVudGVyMg==" };
  const volumeCapability = capability({ mountFlags: ["noatime"] });
  const { volume } = await controller.createVolume({
    name: "secret",
    volumeCapabilities: [volumeCapability],
    secrets,
  });
  const volumeId = volume?.volumeId ?? "";
  const [stagingTargetPath, targetPath] = [world.path("secret-staging"), world.path("secret")];
  await controller.controllerPublishVolume({ volumeId, nodeId: world.nodeID, volumeCapability, secrets });
  await node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability, secrets });
  await node.nodePublishVolume({ volumeId, stagingTargetPath, targetPath, volumeCapability, secrets });
  const { snapshot } = await controller.createSnapshot({
    name: "secret",
    sourceVolumeId: volumeId,
    secrets,
  });
  await node.nodeUnpublishVolume({ volumeId, targetPath });
  await node.nodeUnstageVolume({ volumeId, stagingTargetPath });
  await controller.controllerUnpublishVolume({ volumeId, nodeId: world.nodeID, secrets });
  await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "", secrets });
  await controller.deleteVolume({ volumeId, secrets });
  assert.match(world.log(), /NodeStageVolume/);
  for (const secret of Object.values(secrets)) assert.equal(world.log().includes(secret), false);
});
