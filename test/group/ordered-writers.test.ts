import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PoolType } from "@mooring/engine";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { judge, type Verdict } from "./support/records.ts";
import { type Ring, startRing } from "./support/ring.ts";
import {
  type Access,
  mapSome,
  type PublishedVolume,
  publishVolume,
  readRecords,
} from "./support/volume-set.ts";

/**
 * Writers that write one record after the other, in a fixed order over N volumes, each record durable before the next
 * volume gets it. Whatever moment a group snapshot is of, its volumes then are a prefix of what was written.
 */
const deep = process.env["MOORING_DEEP"] === "1";
const SETS: [access: Access, volumes: number[]][] = deep
  ? [
      ["mount", [2, 8, 32]],
      ["block", [2, 8, 32]],
    ]
  : [
      ["mount", [2, 8]],
      ["block", [2, 8]],
    ];
const SNAPSHOTS = deep ? 200 : 3;

let names = 0;
const freshName = (what: string): string => {
  names += 1;
  return `${what}-${names}`;
};

/** Restores every snapshot, judges what is in them together, and removes the copies. */
async function judgeSnapshots(
  driver: Driver,
  access: Access,
  snapshots: readonly string[],
  acknowledged: number,
): Promise<Verdict> {
  const copies = await mapSome(snapshots, (id) =>
    publishVolume(driver, freshName("copy"), access, { snapshotId: id }),
  );
  const records = await mapSome(copies, readRecords);
  await mapSome(copies, ({ undo }) => undo());
  return judge(records, acknowledged);
}

/** One group snapshot under load. */
async function cutTogether(driver: Driver, volumes: readonly PublishedVolume[], ring: Ring, access: Access) {
  const acknowledged = ring.acknowledged();
  const { groupSnapshot } = await driver.client.groupController.createVolumeGroupSnapshot({
    name: freshName("group"),
    sourceVolumeIds: volumes.map(({ id }) => id),
  });
  assert.ok(groupSnapshot);
  const { groupSnapshotId, snapshots } = groupSnapshot;
  const idOf = (volume: string) =>
    snapshots.find(({ sourceVolumeId }) => sourceVolumeId === volume)?.snapshotId ?? "";
  const ordered = volumes.map(({ id }) => idOf(id));
  const verdict = await judgeSnapshots(driver, access, ordered, acknowledged);
  await driver.client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds: ordered });
  return { verdict, acknowledged };
}

/** Snapshots one after the other, with records written in between: what a group snapshot must not be. */
async function cutApart(driver: Driver, volumes: readonly PublishedVolume[], ring: Ring, access: Access) {
  const acknowledged = ring.acknowledged();
  const snapshots: string[] = [];
  for (const { id: sourceVolumeId } of volumes) {
    const { snapshot } = await driver.controller.createSnapshot({
      name: freshName("single"),
      sourceVolumeId,
    });
    snapshots.push(snapshot?.snapshotId ?? "");
    await ring.advance(3);
  }
  const verdict = await judgeSnapshots(driver, access, snapshots, acknowledged);
  for (const snapshotId of snapshots) await driver.controller.deleteSnapshot({ snapshotId });
  return verdict;
}

for (const pool of ["xfs", "btrfs"] as PoolType[]) {
  describe(`ordered writers on a ${pool} pool`, () => {
    let driver: Driver;
    before(async () => {
      driver = await prepareDriver({ pool, poolSize: "8Gi" });
      await driver.start();
    });
    after(() => driver.dispose());

    for (const [access, sizes] of SETS)
      for (const count of sizes) {
        test(`${count} ${access} volumes: ${SNAPSHOTS} group snapshots are each one moment, independent ones are not`, async () => {
          const names = Array.from({ length: count }, () => freshName("live"));
          const volumes = await mapSome(names, (name) => publishVolume(driver, name, access));
          let ring: Ring | undefined;
          try {
            ring = await startRing(volumes.map(({ path }) => path));
            for (let round = 0; round < SNAPSHOTS; round += 1) {
              await ring.advance(20);
              const { verdict, acknowledged } = await cutTogether(driver, volumes, ring, access);
              assert.deepEqual(verdict.violations, [], `group snapshot ${round}: ${verdict.last.join(" ")}`);
              assert.ok(acknowledged > 0, "records were written before");
            }
            const apart = await cutApart(driver, volumes, ring, access);
            assert.notDeepEqual(apart.violations, [], "the harness sees that independent snapshots differ");
          } finally {
            await ring?.stop();
            await mapSome(volumes, ({ undo }) => undo());
          }
        });
      }
  });
}
