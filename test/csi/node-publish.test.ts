import assert from "node:assert/strict";
import { open, readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { v1 } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { host, startDriver } from "./support/driver.ts";
import { type CapabilityChoice, codeOf, fails, MIB, type Staged, staged } from "./support/volumes.ts";

const driver = await startDriver({ pool: "btrfs" });
const { node } = driver;
const missing = (path: string) =>
  stat(path).then(
    () => false,
    () => true,
  );

async function withVolume(choice: CapabilityChoice, work: (volume: Staged) => Promise<void>): Promise<void> {
  const volume = await staged(driver, "volume", { choice });
  await work(volume);
  await volume.undo();
}

test("published, the target is the volume's file system, once; unpublished, target and mount are gone", () => {
  covers("CSI-268", "CSI-270", "CSI-292");
  return withVolume({}, async (volume) => {
    const target = driver.path("target");
    await volume.publish(target);
    await volume.publish(target);
    assert.equal((await host.mounts.at(target)).length, 1);
    await writeFile(join(target, "file"), "seen below");
    assert.equal(await readFile(join(volume.staging, "file"), "utf8"), "seen below");
    await volume.unpublish(target);
    await volume.unpublish(target);
    assert.equal(await missing(target), true);
    assert.equal((await host.mounts.at(target)).length, 0);
  });
});

test("the rows of the error tables of publish and unpublish", () => {
  covers("CSI-287", "CSI-291", "CSI-295", "CSI-029", "CSI-031");
  return withVolume({}, async (volume) => {
    const target = driver.path("rows");
    await fails("NOT_FOUND", volume.publish(target, { volumeId: "v-none" }), /v-none/);
    await fails(
      "FAILED_PRECONDITION",
      volume.publish(target, { stagingTargetPath: "" }),
      /staging_target_path/,
    );
    await fails(
      "FAILED_PRECONDITION",
      volume.publish(target, { stagingTargetPath: "/not/there" }),
      /NodeStageVolume/,
    );
    await fails("INVALID_ARGUMENT", volume.publish(""), /target_path/);
    await fails("INVALID_ARGUMENT", volume.publish("relative"), /absolute/);
    await fails("INVALID_ARGUMENT", volume.publish("/usr"), /\/usr/);
    await fails("INVALID_ARGUMENT", volume.publish(target, { volumeId: "" }), /volume_id/);
    await fails(
      "INVALID_ARGUMENT",
      volume.publish(target, { volumeCapability: undefined }),
      /volume_capability/,
    );
    await fails("FAILED_PRECONDITION", volume.publish(driver.path("no/parent")), /parent/);
    assert.equal(await missing(target), true, "what failed made nothing");
    await fails("NOT_FOUND", node.nodeUnpublishVolume({ volumeId: "v-none", targetPath: target }), /v-none/);
    await fails(
      "INVALID_ARGUMENT",
      node.nodeUnpublishVolume({ volumeId: volume.id, targetPath: "" }),
      /target_path/,
    );
  });
});

const MULTI = [
  "MULTI_NODE_READER_ONLY",
  "MULTI_NODE_SINGLE_WRITER",
  "MULTI_NODE_MULTI_WRITER",
  "SINGLE_NODE_MULTI_WRITER",
] as const;
for (const mode of MULTI) {
  test(`the second publish of a file system, ${mode}: every cell`, () => {
    covers("CSI-273", "CSI-274", "CSI-275", "CSI-276", "CSI-281", "CSI-360");
    return withVolume({ mode }, async (volume) => {
      const [t1, t2, t3] = ["1", "2", "3"].map((n) => driver.path(`${mode}-${n}`)) as [
        string,
        string,
        string,
      ];
      await volume.publish(t1, { secrets: { key: "one" } });
      await volume.publish(t1, { secrets: { key: "two" } });
      assert.equal((await host.mounts.at(t1)).length, 1);
      await fails("ALREADY_EXISTS", volume.publish(t1, { readonly: true }), /other arguments/);
      await volume.publish(t2);
      await volume.publish(t3, { readonly: true });
      await assert.rejects(writeFile(join(t3, "file"), "no"), { code: "EROFS" });
      for (const target of [t1, t2, t3]) await volume.unpublish(target);
    });
  });
}

test("the second publish of a block volume: all targets are writable, or all are read-only until the last of them has gone", () => {
  covers("CSI-273", "CSI-274", "CSI-275", "CSI-084");
  return withVolume({ access: "block", mode: "MULTI_NODE_MULTI_WRITER" }, async (volume) => {
    const [t1, t2, t3] = ["1", "2", "3"].map((n) => driver.path(`block-cells-${n}`)) as [
      string,
      string,
      string,
    ];
    const takesWrites = async (target: string) => {
      const { stdout } = await host.exec.run("blockdev", ["--getro", target]);
      return stdout.trim() === "0";
    };
    for (const readonly of [false, true]) {
      await volume.publish(t1, { readonly });
      await volume.publish(t1, { readonly });
      await fails("ALREADY_EXISTS", volume.publish(t1, { readonly: !readonly }), /other arguments/);
      await volume.publish(t2, { readonly });
      // The cell of the table that a device cannot have.
      await fails("FAILED_PRECONDITION", volume.publish(t3, { readonly: !readonly }), new RegExp(t1));
      assert.equal(await missing(t3), true);
      for (const target of [t1, t2]) assert.equal(await takesWrites(target), !readonly);
      await volume.unpublish(t1);
      assert.equal(await takesWrites(t2), !readonly, "as it was for those who stay");
      await volume.unpublish(t2);
    }
    await volume.publish(t3);
    assert.equal(await takesWrites(t3), true);
    await volume.unpublish(t3);
  });
});

for (const mode of ["SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER", "SINGLE_NODE_READER_ONLY"] as const) {
  test(`the second publish, ${mode}: every cell`, () => {
    covers("CSI-277", "CSI-278", "CSI-279", "CSI-280", "CSI-281", "CSI-288", "CSI-290", "CSI-088");
    return withVolume({ mode }, async (volume) => {
      const [t1, t2] = [driver.path(`${mode}-1`), driver.path(`${mode}-2`)];
      await volume.publish(t1, { secrets: { key: "one" } });
      await volume.publish(t1, { secrets: { key: "two" } });
      await fails("ALREADY_EXISTS", volume.publish(t1, { readonly: true }), /other arguments/);
      await fails("FAILED_PRECONDITION", volume.publish(t2), new RegExp(t1));
      await fails("FAILED_PRECONDITION", volume.publish(t2, { readonly: true }), new RegExp(t1));
      assert.equal(await missing(t2), true);
      await volume.unpublish(t1);
      await volume.publish(t2);
      await volume.unpublish(t2);
    });
  });
}

const WRITABLE: readonly [NonNullable<CapabilityChoice["mode"]>, boolean][] = [
  ["SINGLE_NODE_WRITER", true],
  ["SINGLE_NODE_READER_ONLY", false],
  ["MULTI_NODE_READER_ONLY", false],
  ["MULTI_NODE_SINGLE_WRITER", true],
  ["MULTI_NODE_MULTI_WRITER", true],
];
for (const [mode, writable] of WRITABLE) {
  test(`${mode} on the only node there is: ${writable ? "writable" : "writes fail with EROFS"}`, () => {
    covers("CSI-088", "CSI-089", "CSI-090", "CSI-286");
    return withVolume({ mode }, async (volume) => {
      const target = driver.path(`writable-${mode}`);
      await volume.publish(target);
      const write = writeFile(join(target, "file"), "x").then(
        () => "OK",
        (error: NodeJS.ErrnoException) => error.code,
      );
      assert.equal(await write, writable ? "OK" : "EROFS");
      await volume.unpublish(target);
      await volume.publish(target, { readonly: true });
      await assert.rejects(writeFile(join(target, "file"), "x"), { code: "EROFS" });
      await volume.unpublish(target);
    });
  });
}

test("a block volume is published as its device; read-only, the device refuses writes", () => {
  covers("CSI-084");
  return withVolume({ access: "block" }, async (volume) => {
    const target = driver.path("block");
    await volume.publish(target);
    assert.equal((await stat(target)).isBlockDevice(), true);
    const sector = Buffer.alloc(4096, "raw");
    const device = await open(target, "r+");
    await device.write(sector, 0, sector.length, 8192);
    await device.sync();
    await device.close();
    await volume.unpublish(target);
    assert.equal(await missing(target), true);
    await volume.publish(target, { readonly: true });
    const reader = await open(target, "r");
    assert.deepEqual((await reader.read(Buffer.alloc(4096), 0, 4096, 8192)).buffer, sector);
    await reader.close();
    const wrote = await open(target, "r+").then(
      async (writer) =>
        writer
          .write(sector, 0, sector.length, 0)
          .then(
            () => "OK",
            () => "refused",
          )
          .finally(() => writer.close()),
      () => "refused",
    );
    assert.equal(wrote, "refused");
    await volume.unpublish(target);
  });
});

test("statistics: bytes and inodes of a mount, the size of a device, the condition; NOT_FOUND elsewhere", async () => {
  const volume = await staged(driver, "stats", { choice: { fsType: "ext4" }, size: 64n * MIB });
  const target = driver.path("stats");
  await volume.publish(target);
  const stats = (more: object = {}) =>
    node.nodeGetVolumeStats({ volumeId: volume.id, volumePath: target, ...more });
  const used = async () =>
    (await stats()).usage.find(({ unit }) => unit === v1.VolumeUsage_Unit.BYTES)?.used ?? 0n;
  const before = await used();
  await writeFile(join(target, "file"), Buffer.alloc(Number(8n * MIB), 1), { flush: true });
  assert.ok((await used()) >= before + 8n * MIB);
  const { usage, volumeCondition } = await stats();
  for (const { total, used: u, available } of usage)
    assert.ok(total > 0n && u >= 0n && available >= 0n && u + available <= total);
  assert.deepEqual(usage.map(({ unit }) => unit).sort(), [
    v1.VolumeUsage_Unit.BYTES,
    v1.VolumeUsage_Unit.INODES,
  ]);
  assert.equal(volumeCondition?.abnormal, false);
  assert.notEqual(volumeCondition?.message, "");
  await fails("NOT_FOUND", stats({ volumeId: "v-none" }), /v-none/);
  await fails("NOT_FOUND", stats({ volumePath: "/proc" }), /\/proc/);
  await fails("INVALID_ARGUMENT", stats({ volumePath: "" }), /volume_path/);
  await fails("INVALID_ARGUMENT", stats({ volumeId: "" }), /volume_id/);
  await volume.unpublish(target);
  await fails("NOT_FOUND", stats(), /is not at/);
  await volume.undo();
});

test("a volume that is still published is not unstaged, and what is not its own is left alone", () =>
  withVolume({}, async (volume) => {
    const target = driver.path("busy");
    await volume.publish(target);
    const unstage = { volumeId: volume.id, stagingTargetPath: volume.staging };
    await fails("FAILED_PRECONDITION", node.nodeUnstageVolume(unstage), new RegExp(target));
    await volume.unpublish(target);
    assert.equal(
      await codeOf(node.nodeUnpublishVolume({ volumeId: volume.id, targetPath: driver.folder })),
      "OK",
    );
    assert.equal(await missing(driver.folder), false);
  }));
