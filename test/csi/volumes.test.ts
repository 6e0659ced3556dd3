import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { test } from "node:test";
import { covers, eventually } from "@mooring/store/testing";
import { filesBelow } from "../support/remains.ts";
import { host, NODE, startDriver } from "./support/driver.ts";
import {
  attach,
  capability,
  codeOf,
  codesOf,
  createSnapshot,
  createVolume,
  detach,
  fails,
  MIB,
  remove,
  volumeId,
} from "./support/volumes.ts";

const driver = await startDriver({ maxVolumes: 2 });
const { controller } = driver;
const ALL = (await controller.getCapacity({})).availableCapacity;

/** What the pool reports follows its volumes a moment later. */
const emptied = () =>
  eventually(
    "the capacity to return",
    async () => (await controller.getCapacity({})).availableCapacity === ALL,
  );

test("deleting releases image, capacity and name; repeats and unknown ids are OK", async () => {
  covers("CSI-130", "CSI-131", "CSI-132");
  const id = await volumeId(driver, "to go", { size: 512n * MIB });
  const images = async () => (await filesBelow(driver.stateDir)).filter((file) => file.includes(id));
  assert.equal((await images()).length, 1);
  await remove(driver, id, id, "v-never", "not ours", "../../../etc/passwd");
  assert.deepEqual(await images(), []);
  await fails("NOT_FOUND", attach(driver, id));
  await emptied();
});

test("a published volume is FAILED_PRECONDITION to delete, names the node, and stays", async () => {
  covers("CSI-134");
  const id = await volumeId(driver, "in use");
  await attach(driver, id);
  await fails("FAILED_PRECONDITION", controller.deleteVolume({ volumeId: id }), new RegExp(NODE));
  assert.equal((await controller.controllerGetVolume({ volumeId: id })).volume?.volumeId, id);
  await detach(driver, id);
  await remove(driver, id);
});

test("publishing makes the device; repeats return the same and make no second", async () => {
  covers("CSI-140", "CSI-141", "CSI-143", "CSI-149");
  const id = await volumeId(driver, "attached");
  const devices = async () =>
    (await host.loops.list()).filter(
      ({ backingFile }) => backingFile.startsWith(`${driver.folder}/`) && backingFile.includes(id),
    );
  assert.deepEqual(await devices(), []);
  const first = await attach(driver, id);
  assert.equal((await devices()).length, 1);
  assert.ok((await stat((await devices())[0]?.path ?? "")).isBlockDevice());
  assert.deepEqual(await attach(driver, id), first);
  assert.equal((await devices()).length, 1);
  const { status } = await controller.controllerGetVolume({ volumeId: id });
  assert.deepEqual(status?.publishedNodeIds, [NODE]);
  await detach(driver, id);
  assert.deepEqual(await devices(), []);
  await remove(driver, id);
});

test("unpublishing undoes it, any number of times; no node id means all nodes", async () => {
  covers("CSI-163", "CSI-166", "CSI-169");
  const id = await volumeId(driver, "detached");
  for (const nodeId of [NODE, ""]) {
    await attach(driver, id);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId });
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId });
    const { status } = await controller.controllerGetVolume({ volumeId: id });
    assert.deepEqual(status?.publishedNodeIds, []);
  }
  await remove(driver, id);
});

test("the rows of ControllerPublishVolume's error table", async () => {
  covers("CSI-150", "CSI-151", "CSI-153");
  const id = await volumeId(driver, "rows");
  const publish = (more: object) =>
    controller.controllerPublishVolume({
      ...{ volumeId: id, nodeId: NODE, volumeCapability: capability(), ...more },
    });
  await fails("NOT_FOUND", publish({ volumeId: "v-none" }), /v-none/);
  await fails("NOT_FOUND", publish({ nodeId: "node-z" }), /node-z/);
  await fails("INVALID_ARGUMENT", publish({ volumeId: "" }), /volume_id/);
  await fails("INVALID_ARGUMENT", publish({ nodeId: "" }), /node_id/);
  await fails("INVALID_ARGUMENT", publish({ volumeCapability: undefined }), /volume_capability/);
  await publish({});
  await fails("ALREADY_EXISTS", publish({ readonly: true }), /readonly/);
  const other = capability({ mode: "SINGLE_NODE_MULTI_WRITER" });
  await fails("ALREADY_EXISTS", publish({ volumeCapability: other }), /volume_capability/);
  await detach(driver, id);
  await remove(driver, id);
});

test("a full node is RESOURCE_EXHAUSTED until a volume is detached", async () => {
  covers("CSI-157");
  const ids = [await volumeId(driver, "1"), await volumeId(driver, "2"), await volumeId(driver, "3")];
  const [one = "", two = "", three = ""] = ids;
  await attach(driver, one);
  await attach(driver, two);
  await fails("RESOURCE_EXHAUSTED", attach(driver, three), /2 volumes.*--max-volumes/s);
  await attach(driver, one);
  await detach(driver, one);
  await attach(driver, three);
  for (const id of [two, three]) await detach(driver, id);
  await remove(driver, ...ids);
});

test("calls that meet on one volume are serialized or ABORTED, and may be repeated", async () => {
  covers("CSI-136", "CSI-159", "CSI-173", "CSI-230", "CSI-027");
  for (let round = 0; round < 5; round += 1) {
    const id = await volumeId(driver, `meet ${round}`);
    const codes = await codesOf(
      attach(driver, id),
      detach(driver, id),
      controller.controllerExpandVolume({ volumeId: id, capacityRange: { requiredBytes: 20n * MIB } }),
      controller.deleteVolume({ volumeId: id }),
    );
    for (const code of codes) assert.match(code, /^(OK|ABORTED|FAILED_PRECONDITION|NOT_FOUND)$/);
    assert.ok(codes.includes("ABORTED"), `one of them met another: ${codes}`);
    const { code, output } = await overlap(id);
    assert.match(code, /^(OK|ABORTED)$/, output);
    await eventually("the volume to go", async () => {
      await detach(driver, id).catch(() => {});
      return (await codeOf(controller.deleteVolume({ volumeId: id }))) === "OK";
    });
  }
});

async function overlap(id: string): Promise<{ code: string; output: string }> {
  const made = await controller
    .createSnapshot({ name: `s ${id}`, sourceVolumeId: id })
    .catch(() => undefined);
  const snapshotId = made?.snapshot?.snapshotId;
  if (snapshotId === undefined) return { code: "OK", output: "the volume is gone" };
  const codes = await codesOf(
    controller.deleteSnapshot({ snapshotId }),
    controller.deleteSnapshot({ snapshotId, secrets: { other: "call" } }),
  );
  return { code: codes.find((code) => code !== "OK") ?? "OK", output: codes.join() };
}

test("capabilities are all confirmed, or none, with the reason", async () => {
  covers("CSI-177", "CSI-178", "CSI-179", "CSI-182", "CSI-183");
  const id = await volumeId(driver, "validated", { choice: { fsType: "ext4" } });
  const validate = (...volumeCapabilities: ReturnType<typeof capability>[]) =>
    controller.validateVolumeCapabilities({ volumeId: id, volumeCapabilities });
  const good = capability({ fsType: "ext4" });
  const first = await validate(good);
  assert.equal(first.confirmed?.volumeCapabilities.length, 1);
  assert.deepEqual(await validate(good), first);
  const bad = await validate(good, capability({ access: "block" }));
  assert.equal(bad.confirmed, undefined);
  assert.match(bad.message, /block/);
  await fails(
    "NOT_FOUND",
    controller.validateVolumeCapabilities({ volumeId: "v-x", volumeCapabilities: [good] }),
    /v-x/,
  );
  await fails("INVALID_ARGUMENT", validate(), /volume_capabilities/);
  await remove(driver, id);
});

test("capacity is what there is here, for this use; it drops by what is promised", async () => {
  covers("CSI-193", "CSI-194", "CSI-196");
  const capacity = async (more: object = {}) => (await controller.getCapacity(more)).availableCapacity;
  assert.ok(ALL > 0n);
  await emptied();
  const id = await volumeId(driver, "promised", { size: 1024n * MIB });
  await eventually("the capacity to drop", async () => (await capacity()) <= ALL - 1024n * MIB);
  const place = (await driver.node.nodeGetInfo({})).accessibleTopology;
  assert.ok(place);
  assert.ok((await capacity({ accessibleTopology: place })) > 0n);
  const key = Object.keys(place.segments)[0] ?? "";
  assert.equal(await capacity({ accessibleTopology: { segments: { [key]: "elsewhere" } } }), 0n);
  assert.equal(await capacity({ parameters: { pool: "nowhere" } }), 0n);
  assert.equal(await capacity({ volumeCapabilities: [capability({ fsType: "ntfs" })] }), 0n);
  await remove(driver, id);
});

test("ControllerGetVolume and ListVolumes agree: published nodes and condition", async () => {
  covers("CSI-184", "CSI-027");
  const id = await volumeId(driver, "listed");
  await attach(driver, id);
  const one = await controller.controllerGetVolume({ volumeId: id });
  const [entry] = (await controller.listVolumes({})).entries;
  assert.deepEqual(
    [entry?.volume, entry?.status?.publishedNodeIds],
    [one.volume, one.status?.publishedNodeIds],
  );
  assert.deepEqual(one.status?.publishedNodeIds, [NODE]);
  assert.equal(one.status?.volumeCondition?.abnormal, false);
  assert.notEqual(one.status?.volumeCondition?.message, "");
  await detach(driver, id);
  await remove(driver, id);
});

test("growing: at least what is asked, never smaller, refused above the limit and beyond the pool", async () => {
  const id = await volumeId(driver, "grown");
  const grow = (capacityRange: object) => controller.controllerExpandVolume({ volumeId: id, capacityRange });
  assert.equal((await grow({ requiredBytes: 32n * MIB })).capacityBytes, 32n * MIB);
  assert.equal((await grow({ requiredBytes: 20n * MIB })).capacityBytes, 32n * MIB);
  await fails("OUT_OF_RANGE", grow({ requiredBytes: 1n, limitBytes: 24n * MIB }), /limit_bytes/);
  await fails("OUT_OF_RANGE", grow({ requiredBytes: 1n << 50n }), /room/);
  await fails("INVALID_ARGUMENT", grow({}), /required_bytes/);
  await fails(
    "NOT_FOUND",
    controller.controllerExpandVolume({ volumeId: "v-x", capacityRange: { requiredBytes: 1n } }),
  );
  assert.equal((await controller.controllerGetVolume({ volumeId: id })).volume?.capacityBytes, 32n * MIB);
  await remove(driver, id);
});

test("mutable parameters: all or none, also while the volume is used", async () => {
  const id = await volumeId(driver, "tuned");
  const modify = (mutableParameters: Record<string, string>, volume = id) =>
    controller.controllerModifyVolume({ volumeId: volume, mutableParameters });
  await modify({ readAheadKiB: "512" });
  await fails("INVALID_ARGUMENT", modify({ readAheadKiB: "256", colour: "red" }), /colour/);
  await fails("INVALID_ARGUMENT", modify({ readAheadKiB: "fast" }), /whole number/);
  await fails("INVALID_ARGUMENT", modify({}), /mutable_parameters/);
  await fails("NOT_FOUND", modify({ readAheadKiB: "1" }, "v-x"), /v-x/);
  assert.ok(
    await createSnapshot(driver, "tuned", id).then(({ snapshotId }) =>
      controller.deleteSnapshot({ snapshotId }),
    ),
  );
  await createVolume(driver, "tuned");
  await remove(driver, id);
});
