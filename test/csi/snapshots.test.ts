import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { NOTHING_MADE, v1 } from "@mooring/csi";
import { covers, sample, thorough } from "@mooring/store/testing";
import { filesBelow } from "../support/remains.ts";
import { startDriver } from "./support/driver.ts";
import {
  attach,
  codeOf,
  codesOf,
  createSnapshot,
  createVolume,
  detach,
  fails,
  failureOf,
  MIB,
  remove,
  type Staged,
  staged,
  volumeId,
} from "./support/volumes.ts";

const snapshotSource = (snapshotId: string) => ({
  volumeContentSource: { type: { case: "snapshot" as const, value: { snapshotId } } },
});
const volumeSource = (id: string) => ({
  volumeContentSource: { type: { case: "volume" as const, value: { volumeId: id } } },
});
const fsTypes = { xfs: "ext4", btrfs: "xfs" } as const;

for (const pool of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  const driver = await startDriver({ pool });
  const { controller } = driver;
  const choice = { fsType: fsTypes[pool] };
  const size = 320n * MIB;
  /** Bytes of the file system at the staging path. */
  const totalOf = async ({ id, staging }: Staged): Promise<bigint> => {
    const { usage } = await driver.node.nodeGetVolumeStats({ volumeId: id, volumePath: staging });
    return usage.find(({ unit }) => unit === v1.VolumeUsage_Unit.BYTES)?.total ?? 0n;
  };

  test(`${pool}: a snapshot is made and ready when the call returns`, async () => {
    covers("CSI-201", "CSI-204", "CSI-209", "CSI-211", "CSI-213", "CSI-215", "CSI-245");
    const id = await volumeId(driver, "source");
    const before = Date.now();
    const snapshot = await createSnapshot(driver, "snap", id);
    const after = Date.now();
    const { seconds = 0n, nanos = 0 } = snapshot.creationTime ?? {};
    const at = Number(seconds) * 1000 + nanos / 1e6;
    assert.ok(at >= before - 1 && at <= after + 1, `${before} <= ${at} <= ${after}`);
    assert.equal(snapshot.readyToUse, true);
    assert.equal(snapshot.sourceVolumeId, id);
    assert.ok(snapshot.snapshotId !== "" && Buffer.byteLength(snapshot.snapshotId) <= 128);
    assert.deepEqual(await createSnapshot(driver, "snap", id), snapshot);
    assert.deepEqual((await controller.getSnapshot({ snapshotId: snapshot.snapshotId })).snapshot, snapshot);
    await controller.deleteSnapshot({ snapshotId: snapshot.snapshotId });
    await remove(driver, id);
  });

  test(`${pool}: a restore has the data of the snapshot, is as large as asked, and never smaller`, async () => {
    covers("CSI-076", "CSI-081", "CSI-101", "CSI-199", "CSI-206", "CSI-071", "CSI-126", "CSI-210");
    const source = await staged(driver, "live", { choice, size });
    await writeFile(join(source.staging, "file"), "before the copy");
    const { snapshotId, sizeBytes } = await createSnapshot(driver, "point", source.id);
    await writeFile(join(source.staging, "file"), "after the copy!");
    assert.equal(sizeBytes, size);
    await fails(
      "OUT_OF_RANGE",
      createVolume(driver, "small", { choice, size: size / 2n, ...snapshotSource(snapshotId) }),
      /smaller/,
    );
    const limited = { capacityRange: { limitBytes: size - 4096n }, ...snapshotSource(snapshotId) };
    await fails("OUT_OF_RANGE", createVolume(driver, "limited", { choice, ...limited }), /smaller/);
    const larger = { choice, size: 512n * MIB, ...snapshotSource(snapshotId) };
    const restored = await createVolume(driver, "restored", larger);
    assert.deepEqual(
      restored.contentSource?.type.value,
      (await createVolume(driver, "restored", larger)).contentSource?.type.value,
    );
    assert.equal(restored.contentSource?.type.case, "snapshot");
    assert.ok(restored.capacityBytes >= 512n * MIB);
    const copy = await staged(driver, "restored", larger);
    assert.equal(await readFile(join(copy.staging, "file"), "utf8"), "before the copy");
    assert.equal(await readFile(join(source.staging, "file"), "utf8"), "after the copy!");
    assert.ok((await totalOf(copy)) > 400n * MIB);
    await copy.undo();
    await source.undo();
    await controller.deleteSnapshot({ snapshotId });
  });

  test(`${pool}: a clone has the data, and outlives its source`, async () => {
    covers("CSI-076", "CSI-101", "CSI-351");
    const source = await staged(driver, "cloned", { choice, size });
    await writeFile(join(source.staging, "file"), "original");
    const wanted = { choice, size, ...volumeSource(source.id) };
    const clone = await createVolume(driver, "clone", wanted);
    assert.equal(clone.contentSource?.type.case, "volume");
    await source.undo();
    const copy = await staged(driver, "clone", wanted);
    assert.equal(await readFile(join(copy.staging, "file"), "utf8"), "original");
    await copy.undo();
    await fails("NOT_FOUND", createVolume(driver, "clone 2", wanted), /does not exist/);
  });

  test(`${pool}: a clone that is larger than its source has a file system of its own size, also while the source is written to`, async () => {
    covers("CSI-076", "CSI-101");
    const source = await staged(driver, "grown source", { choice, size });
    await writeFile(join(source.staging, "file"), "original");
    const small = await totalOf(source);
    const wanted = { choice, size: 512n * MIB, ...volumeSource(source.id) };
    const copy = await staged(driver, "larger clone", wanted);
    await writeFile(join(source.staging, "file"), "changed!");
    assert.ok(
      (await totalOf(copy)) >= small + 160n * MIB,
      `${await totalOf(copy)} bytes, the source has ${small}`,
    );
    assert.equal(await totalOf(source), small);
    assert.equal(await readFile(join(copy.staging, "file"), "utf8"), "original");
    await copy.undo();
    await source.undo();
  });

  test(`${pool}: names are unique over all volumes; the source is always a volume`, async () => {
    covers("CSI-202", "CSI-212", "CSI-222", "CSI-347");
    const [a, b] = [await volumeId(driver, "a"), await volumeId(driver, "b")];
    const { snapshotId } = await createSnapshot(driver, "named", a);
    await fails("ALREADY_EXISTS", createSnapshot(driver, "named", b), new RegExp(a));
    const reported = { name: "named", sourceVolumeId: a, parameters: { "csi.storage.k8s.io/x": "y" } };
    assert.equal((await controller.createSnapshot(reported)).snapshot?.snapshotId, snapshotId);
    await fails("NOT_FOUND", createSnapshot(driver, "of a snapshot", snapshotId), /does not exist/);
    await fails("NOT_FOUND", createSnapshot(driver, "of nothing", "v-none"), /v-none/);
    await fails("INVALID_ARGUMENT", createSnapshot(driver, "", a), /name/);
    await fails("INVALID_ARGUMENT", createSnapshot(driver, "of no volume", ""), /source_volume_id/);
    await fails(
      "INVALID_ARGUMENT",
      controller.createSnapshot({ name: "p", sourceVolumeId: a, parameters: { x: "y" } }),
      /"x" is not known.*Remove it/s,
    );
    assert.equal((await controller.listSnapshots({})).entries.length, 1, "what failed left nothing");
    await controller.deleteSnapshot({ snapshotId });
    await remove(driver, a, b);
  });

  test(`${pool}: deleted, its image and its data are gone; repeats and unknown ids are OK`, async () => {
    covers("CSI-226", "CSI-227");
    const id = await volumeId(driver, "volume");
    const { snapshotId } = await createSnapshot(driver, "gone", id);
    const images = async () =>
      (await filesBelow(driver.stateDir)).filter((file) => file.includes(snapshotId));
    assert.equal((await images()).length, 1);
    for (const each of [snapshotId, snapshotId, "s-never", "whatever"])
      await controller.deleteSnapshot({ snapshotId: each });
    assert.deepEqual(await images(), []);
    assert.deepEqual((await controller.listSnapshots({})).entries, []);
    await fails("NOT_FOUND", createVolume(driver, "too late", snapshotSource(snapshotId)), /does not exist/);
    await remove(driver, id);
  });

  test(`${pool}: lists by volume and by id are of one mind, also after the volume has gone`, async () => {
    covers("CSI-200", "CSI-232", "CSI-238", "CSI-239");
    const [a, b] = [await volumeId(driver, "a"), await volumeId(driver, "b")];
    const one = await createSnapshot(driver, "1", a);
    const two = await createSnapshot(driver, "2", b);
    const list = async (filter: object) =>
      (await controller.listSnapshots(filter)).entries.map((entry) => entry.snapshot);
    await remove(driver, a);
    assert.deepEqual(await list({}), [one, two]);
    assert.deepEqual(await list({ sourceVolumeId: a }), [one]);
    assert.deepEqual(await list({ snapshotId: two.snapshotId }), [two]);
    assert.deepEqual(await list({ snapshotId: two.snapshotId, sourceVolumeId: a }), []);
    assert.deepEqual(await list({ snapshotId: "s-none" }), []);
    for (const { snapshotId } of [one, two]) await controller.deleteSnapshot({ snapshotId });
    await remove(driver, b);
  });

  test(`${pool}: ten identical calls at once make one snapshot; another one meanwhile is refused`, async () => {
    covers("CSI-020", "CSI-223");
    const [a, b] = [await volumeId(driver, "a"), await volumeId(driver, "b")];
    const same = Array.from({ length: 10 }, () => createSnapshot(driver, "many", a));
    const other = codeOf(createSnapshot(driver, "many", b));
    const made = await Promise.all(same);
    assert.equal(
      new Set(
        made.map(
          ({ snapshotId, creationTime }) => `${snapshotId} ${creationTime?.seconds}.${creationTime?.nanos}`,
        ),
      ).size,
      1,
    );
    assert.match(await other, /^(ABORTED|ALREADY_EXISTS)$/);
    assert.equal((await controller.listSnapshots({})).entries.length, 1);
    const snapshotId = made[0]?.snapshotId ?? "";
    const codes = await codesOf(
      controller.deleteSnapshot({ snapshotId }),
      createVolume(driver, "meets", snapshotSource(snapshotId)),
    );
    for (const code of codes) assert.match(code, /^(OK|ABORTED|NOT_FOUND|FAILED_PRECONDITION)$/);
    await controller.deleteSnapshot({ snapshotId });
    const { entries } = await controller.listVolumes({});
    await remove(driver, ...entries.map(({ volume }) => volume?.volumeId ?? ""));
  });
}

test(
  "without space a snapshot is RESOURCE_EXHAUSTED and leaves no snapshot; with space it works",
  thorough(),
  async () => {
    covers("CSI-203", "CSI-225", "CSI-122");
    const driver = await startDriver({ poolSize: "512Mi", env: { MOORING_POOL_OVERCOMMIT: "2" } });
    const { controller } = driver;
    const id = await volumeId(driver, "full", { choice: { access: "block" }, size: 480n * MIB });
    const spare = await volumeId(driver, "spare", { choice: { access: "block" } });
    await attach(driver, id, { access: "block" });
    const image = (await filesBelow(driver.stateDir)).find((file) => file.endsWith(`${id}.img`)) ?? "";
    const fill = Buffer.alloc(Number(MIB), 1);
    for (let written = 0; written < 430; written += 1)
      await writeFile(image, fill, { flag: written === 0 ? "w" : "a" }).catch(() => {});
    await detach(driver, id);
    const full = await failureOf(createSnapshot(driver, "no room", spare));
    assert.deepEqual([full.code, full.reason], ["RESOURCE_EXHAUSTED", NOTHING_MADE]);
    assert.deepEqual((await controller.listSnapshots({})).entries, []);
    await fails("RESOURCE_EXHAUSTED", createVolume(driver, "no room"), /room|free/);
    await remove(driver, id);
    const { snapshotId } = await createSnapshot(driver, "no room", spare);
    await controller.deleteSnapshot({ snapshotId });
    await remove(driver, spare);
  },
);
