import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { covers } from "@mooring/store/testing";
import { filesBelow } from "../support/remains.ts";
import { host, startDriver } from "./support/driver.ts";
import {
  attach,
  capability,
  createSnapshot,
  createVolume,
  detach,
  fails,
  MIB,
  remove,
  staged,
  volumeId,
} from "./support/volumes.ts";

const driver = await startDriver({ pool: "directory" });
const imaged = await startDriver({ pool: "xfs" });
const { controller, node } = driver;

test("directory: no block volumes: refused when asked for, capacity 0", async () => {
  covers("CSI-072", "CSI-073", "CSI-194");
  const block = [capability({ access: "block" })];
  await fails(
    "INVALID_ARGUMENT",
    controller.createVolume({ name: "block", volumeCapabilities: block }),
    /directory/,
  );
  const both = [capability(), ...block];
  await fails(
    "INVALID_ARGUMENT",
    controller.createVolume({ name: "both", volumeCapabilities: both }),
    /directory/,
  );
  assert.equal((await controller.getCapacity({ volumeCapabilities: block })).availableCapacity, 0n);
  assert.ok((await controller.getCapacity({ volumeCapabilities: [capability()] })).availableCapacity > 0n);
  assert.deepEqual((await controller.listVolumes({})).entries, []);
});

test("directory: a folder is published writable and read-only, and keeps its data", async () => {
  covers("CSI-067", "CSI-268", "CSI-270", "CSI-286", "CSI-292");
  const volume = await staged(driver, "folder");
  const [writable, readable] = [driver.path("writable"), driver.path("readable")];
  await volume.publish(writable);
  await volume.publish(writable);
  assert.equal((await host.mounts.at(writable)).length, 1);
  await writeFile(join(writable, "file"), "kept");
  await volume.unpublish(writable);
  await volume.publish(readable, { readonly: true });
  assert.equal(await readFile(join(readable, "file"), "utf8"), "kept");
  await assert.rejects(writeFile(join(readable, "file"), "no"), { code: "EROFS" });
  await volume.unpublish(readable);
  await volume.undo();
  assert.deepEqual(
    (await filesBelow(driver.stateDir)).filter((file) => file.includes(volume.id)),
    [],
  );
});

test("directory: mount flags of a bind mount are applied, also where it is published; others are refused", async () => {
  covers("CSI-086");
  const choice = { mountFlags: ["noexec,nosuid", "nodev", "noatime"] };
  const volume = await staged(driver, "flags", { choice });
  const [writable, readable] = [driver.path("flags-writable"), driver.path("flags-readable")];
  await volume.publish(writable);
  const optionsAt = async (path: string) => (await host.mounts.at(path)).at(-1)?.options ?? [];
  const flags = ["noexec", "nosuid", "nodev", "noatime"];
  for (const flag of flags) {
    assert.ok((await optionsAt(volume.staging)).includes(flag), flag);
    assert.ok((await optionsAt(writable)).includes(flag), flag);
  }
  const program = join(writable, "program");
  await writeFile(program, "#!/bin/sh\n", { mode: 0o755 });
  await assert.rejects(promisify(execFile)(program), { code: "EACCES" });
  await volume.unpublish(writable);
  await volume.publish(readable, { readonly: true });
  for (const flag of [...flags, "ro"]) assert.ok((await optionsAt(readable)).includes(flag), flag);
  await volume.unpublish(readable);
  // As a kill between the bind mount and its flags leaves it.
  await host.exec.run("mount", ["-o", "remount,bind,exec,suid,dev", volume.staging]);
  assert.ok(!(await optionsAt(volume.staging)).includes("noexec"));
  const volumeCapability = capability(choice);
  await node.nodeStageVolume({ volumeId: volume.id, stagingTargetPath: volume.staging, volumeCapability });
  for (const flag of flags) assert.ok((await optionsAt(volume.staging)).includes(flag), flag);
  await volume.undo();
  const other = await volumeId(driver, "refused flags");
  await attach(driver, other);
  const stage = (...mountFlags: string[]) =>
    node.nodeStageVolume({
      ...{ volumeId: other, stagingTargetPath: driver.path("refused") },
      volumeCapability: capability({ mountFlags }),
    });
  for (const flag of ["discard", "noexec,uquota", "data=journal"]) {
    const message = await fails(
      "INVALID_ARGUMENT",
      stage("nosuid", flag),
      /mount_flags\[1\] is no flag of a bind mount/,
    );
    assert.doesNotMatch(message, /uquota|journal/);
  }
  assert.deepEqual(await host.mounts.at(driver.path("refused")), []);
  await detach(driver, other);
  await remove(driver, other);
});

for (const pool of ["directory", "xfs"] as const) {
  test(`${pool}: the mount flag ro makes staging and publication read-only`, async () => {
    covers("CSI-086");
    const used = pool === "directory" ? driver : imaged;
    const volume = await staged(used, "read-only", { choice: { mountFlags: ["ro"] } });
    const target = used.path("read-only-target");
    await volume.publish(target);
    await volume.publish(target);
    await assert.rejects(writeFile(join(target, "file"), "no"), { code: "EROFS" });
    await assert.rejects(writeFile(join(volume.staging, "file"), "no"), { code: "EROFS" });
    await volume.unpublish(target);
    await volume.undo();
  });
}

test("directory: a folder in use is not copied; one at rest is, and restored whole", async () => {
  covers("CSI-202", "CSI-203", "CSI-206", "CSI-217");
  const id = await volumeId(driver, "source");
  const staging = driver.path("source");
  await mkdir(staging);
  const at = { volumeId: id, stagingTargetPath: staging };
  await attach(driver, id);
  await node.nodeStageVolume({ ...at, volumeCapability: capability() });
  await writeFile(join(staging, "file"), "content");
  await fails("FAILED_PRECONDITION", createSnapshot(driver, "snap", id), /in use/);
  // csi.v0 has a status for what fails after the copy; what fails before is an error there, too.
  const old = driver.client.v0.controller;
  await fails("FAILED_PRECONDITION", old.createSnapshot({ name: "snap", sourceVolumeId: id }), /in use/);
  assert.deepEqual((await old.listSnapshots({})).entries, []);
  assert.deepEqual((await controller.listSnapshots({})).entries, []);
  await node.nodeUnstageVolume(at);
  await detach(driver, id);
  const snapshot = await createSnapshot(driver, "snap", id);
  assert.deepEqual(await createSnapshot(driver, "snap", id), snapshot);
  const { snapshotId } = snapshot;
  const restored = await staged(driver, "restored", {
    volumeContentSource: { type: { case: "snapshot", value: { snapshotId } } },
  });
  assert.equal(await readFile(join(restored.staging, "file"), "utf8"), "content");
  await restored.undo();
  await controller.deleteSnapshot({ snapshotId });
  await remove(driver, id);
});

test("directory: a volume reports the size that was asked for, and grows; it goes without a trace", async () => {
  covers("CSI-093", "CSI-131", "CSI-196");
  const volume = await createVolume(driver, "sized", { size: 64n * MIB });
  assert.equal(volume.capacityBytes, 64n * MIB);
  const capacityRange = { requiredBytes: 128n * MIB };
  const grown = await controller.controllerExpandVolume({ volumeId: volume.volumeId, capacityRange });
  assert.equal(grown.capacityBytes, 128n * MIB);
  await remove(driver, volume.volumeId);
  await fails("NOT_FOUND", controller.controllerGetVolume({ volumeId: volume.volumeId }));
});
