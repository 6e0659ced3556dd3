import assert from "node:assert/strict";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { v0, v1 } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { host, NODE, startDriver } from "./support/driver.ts";
import { createSnapshot, fails, MIB, remove, volumeId } from "./support/volumes.ts";

const driver = await startDriver();
const { controller, identity, node } = driver.client.v0;
const volumeCapability = {
  accessType: { case: "mount" as const, value: { fsType: "ext4" } },
  accessMode: { mode: v0.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};
const create = async (name: string, more: object = {}) => {
  const request = {
    name,
    capacityRange: { requiredBytes: 16n * MIB },
    volumeCapabilities: [volumeCapability],
  };
  const { volume } = await controller.createVolume({ ...request, ...more });
  assert.ok(volume);
  return volume;
};

test("csi.v0 has its three services with 3, 11 and 7 methods, on the same socket", async () => {
  covers("CSI-015", "CSI-341");
  assert.deepEqual(
    [v0.Identity, v0.Controller, v0.Node].map(({ methods }) => methods.length),
    [3, 11, 7],
  );
  assert.deepEqual(
    [v0.Identity, v0.Controller, v0.Node].map(({ typeName }) => typeName),
    ["csi.v0.Identity", "csi.v0.Controller", "csi.v0.Node"],
  );
  assert.equal(
    (await identity.getPluginInfo({})).name,
    (await driver.client.identity.getPluginInfo({})).name,
  );
  assert.equal((await identity.probe({})).ready, true);
});

test("NodeGetId and NodeGetInfo say the same node", async () => {
  covers("CSI-018", "CSI-300", "CSI-358", "CSI-305");
  assert.equal((await node.nodeGetId({})).nodeId, NODE);
  assert.equal((await node.nodeGetInfo({})).nodeId, NODE);
});

test("csi.v0 announces only what csi.v0 has", async () => {
  covers("CSI-302", "CSI-197", "CSI-343", "CSI-364");
  const numbers = (list: readonly { type: { case?: string | undefined; value?: unknown } }[]) =>
    list.map(({ type }) => (type.value as { type: number }).type);
  assert.deepEqual(numbers((await node.nodeGetCapabilities({})).capabilities), [1]);
  assert.deepEqual(
    numbers((await controller.controllerGetCapabilities({})).capabilities).sort(),
    [1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(numbers((await identity.getPluginCapabilities({})).capabilities).sort(), [1, 2]);
});

test("a whole life by csi.v0: create, publish, stage, write, and back", async () => {
  covers("CSI-003", "CSI-342");
  const { id, capacityBytes, accessibleTopology } = await create("life");
  assert.equal(capacityBytes, 16n * MIB);
  assert.equal(accessibleTopology.length, 1);
  assert.equal((await create("life")).id, id);
  const { publishInfo } = await controller.controllerPublishVolume({
    volumeId: id,
    nodeId: NODE,
    volumeCapability,
  });
  const [stagingTargetPath, targetPath] = [driver.path("v0-staging"), driver.path("v0-target")];
  // In csi.v0 the orchestrator makes the target.
  for (const path of [stagingTargetPath, targetPath]) await mkdir(path);
  await node.nodeStageVolume({ volumeId: id, stagingTargetPath, volumeCapability, publishInfo });
  await node.nodePublishVolume({
    volumeId: id,
    stagingTargetPath,
    targetPath,
    volumeCapability,
    publishInfo,
  });
  await writeFile(join(targetPath, "file"), "by csi.v0");
  assert.equal(await readFile(join(stagingTargetPath, "file"), "utf8"), "by csi.v0");
  assert.equal((await host.mounts.at(targetPath)).length, 1);
  await fails("FAILED_PRECONDITION", controller.deleteVolume({ volumeId: id }), new RegExp(NODE));
  await node.nodeUnpublishVolume({ volumeId: id, targetPath });
  await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath });
  await controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE });
  await controller.deleteVolume({ volumeId: id });
});

test("a snapshot by csi.v0: nanoseconds and READY", async () => {
  covers("CSI-213", "CSI-214", "CSI-215", "CSI-344", "CSI-346");
  const { id } = await create("source");
  const before = BigInt(Date.now() - 1) * 1_000_000n;
  const { snapshot } = await controller.createSnapshot({ name: "snap", sourceVolumeId: id });
  const after = BigInt(Date.now() + 1) * 1_000_000n;
  const at = snapshot?.createdAt ?? 0n;
  assert.ok(at >= before && at <= after, String(at));
  assert.equal(snapshot?.status?.type, v0.SnapshotStatus_Type.READY);
  const list = await controller.listSnapshots({ snapshotId: snapshot?.id ?? "" });
  assert.deepEqual(
    list.entries.map((entry) => entry.snapshot),
    [snapshot],
  );
  const contentSource = { type: { case: "snapshot", value: { id: snapshot?.id } } };
  const restored = await create("restored", { volumeContentSource: contentSource });
  assert.equal(restored.contentSource?.type.value?.id, snapshot?.id);
  await controller.deleteSnapshot({ snapshotId: snapshot?.id ?? "" });
  for (const volumeIdOf of [restored.id, id]) await controller.deleteVolume({ volumeId: volumeIdOf });
});

test("ControllerUnpublishVolume of an unknown volume or node is NOT_FOUND in csi.v0, OK in csi.v1", async () => {
  covers("CSI-170", "CSI-171", "CSI-352");
  const { id } = await create("unpublished");
  const from = (nodeId: string) => ({ volumeId: id, nodeId });
  await fails("NOT_FOUND", controller.controllerUnpublishVolume(from("node-z")), /node-z/);
  await controller.controllerUnpublishVolume(from(NODE));
  await driver.controller.controllerUnpublishVolume(from("node-z"));
  await controller.deleteVolume({ volumeId: id });
  await fails(
    "NOT_FOUND",
    controller.controllerUnpublishVolume({ volumeId: "v-none", nodeId: NODE }),
    /v-none/,
  );
  await driver.controller.controllerUnpublishVolume({ volumeId: "v-none", nodeId: NODE });
});

test("the error tables of csi.v0", async () => {
  covers(
    "CSI-120",
    "CSI-126",
    "CSI-150",
    "CSI-151",
    "CSI-183",
    "CSI-191",
    "CSI-256",
    "CSI-265",
    "CSI-287",
    "CSI-295",
    "CSI-348",
    "CSI-351",
  );
  const { id } = await create("rows");
  await fails(
    "ALREADY_EXISTS",
    create("rows", { capacityRange: { requiredBytes: 32n * MIB } }),
    /capacity_range/,
  );
  await fails("RESOURCE_EXHAUSTED", create("huge", { capacityRange: { requiredBytes: 1n << 50n } }), /room/);
  await fails(
    "NOT_FOUND",
    create("x", { volumeContentSource: { type: { case: "snapshot", value: { id: "s-none" } } } }),
    /s-none/,
  );
  const publish = { volumeId: id, nodeId: NODE, volumeCapability };
  await fails("NOT_FOUND", controller.controllerPublishVolume({ ...publish, volumeId: "v-none" }), /v-none/);
  await fails("NOT_FOUND", controller.controllerPublishVolume({ ...publish, nodeId: "node-z" }), /node-z/);
  const validate = { volumeId: "v-none", volumeCapabilities: [volumeCapability] };
  await fails("NOT_FOUND", controller.validateVolumeCapabilities(validate), /v-none/);
  await fails("ABORTED", controller.listVolumes({ startingToken: "bogus" }), /starting_token/);
  await fails("ABORTED", controller.listSnapshots({ startingToken: "bogus" }), /starting_token/);
  const staging = { volumeId: "v-none", stagingTargetPath: "/tmp/nowhere/x" };
  await fails("NOT_FOUND", node.nodeStageVolume({ ...staging, volumeCapability }), /v-none/);
  await fails("NOT_FOUND", node.nodeUnstageVolume(staging), /v-none/);
  const target = { ...staging, targetPath: "/tmp/nowhere/y" };
  await fails("NOT_FOUND", node.nodePublishVolume({ ...target, volumeCapability }), /v-none/);
  await fails(
    "NOT_FOUND",
    node.nodeUnpublishVolume({ volumeId: "v-none", targetPath: "/tmp/nowhere/y" }),
    /v-none/,
  );
  await controller.deleteVolume({ volumeId: id });
});

test("ValidateVolumeCapabilities of csi.v0 returns supported, or not and why", async () => {
  covers("CSI-178", "CSI-182");
  const { id } = await create("validated");
  const validate = (...volumeCapabilities: object[]) =>
    controller.validateVolumeCapabilities({ volumeId: id, volumeCapabilities });
  assert.deepEqual(await validate(volumeCapability).then(({ supported }) => supported), true);
  const bad = await validate(volumeCapability, {
    ...volumeCapability,
    accessType: { case: "block", value: {} },
  });
  assert.equal(bad.supported, false);
  assert.match(bad.message, /block/);
  await controller.deleteVolume({ volumeId: id });
});

test("field rules bind csi.v0 as well", async () => {
  covers("CSI-021", "CSI-029", "CSI-036", "CSI-119");
  await fails("INVALID_ARGUMENT", create("n".repeat(129)), /129/);
  await fails("INVALID_ARGUMENT", create(""), /name/);
  await fails("INVALID_ARGUMENT", create("s", { controllerCreateSecrets: { "a/b": "x" } }), /secrets/i);
  const requisite = [{ segments: { zone: "" } }];
  await fails("INVALID_ARGUMENT", create("t", { accessibilityRequirements: { requisite } }), /segments/);
});

test("both versions list the same volumes and snapshots", async () => {
  covers("CSI-184", "CSI-355");
  const id = await volumeId(driver, "shared");
  const snapshot = await createSnapshot(driver, "shared", id);
  const old = (await controller.listVolumes({})).entries.map((entry) => entry.volume?.id);
  assert.deepEqual(old, [id]);
  const snapshots = (await controller.listSnapshots({})).entries.map((entry) => entry.snapshot?.id);
  assert.deepEqual(snapshots, [snapshot.snapshotId]);
  assert.ok((await controller.getCapacity({})).availableCapacity > 0n);
  assert.equal(v1.Controller.typeName, "csi.v1.Controller");
  await driver.controller.deleteSnapshot({ snapshotId: snapshot.snapshotId });
  await remove(driver, id);
});
