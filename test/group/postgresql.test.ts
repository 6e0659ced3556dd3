import assert from "node:assert/strict";
import { chmod } from "node:fs/promises";
import { join } from "node:path";
import { describe, test } from "node:test";
import type { PoolType } from "@mooring/engine";
import { eventually, howMany } from "@mooring/store/testing";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { MIB } from "../csi/support/volumes.ts";
import { freshName } from "./support/names.ts";
import { Postgresql, postgresqlFolder } from "./support/postgresql.ts";
import { PATIENT } from "./support/rounds.ts";
import { type PublishedVolume, publishVolume, siteOf } from "./support/volume-set.ts";

/**
 * PostgreSQL with its data on one volume and its write-ahead log on another, under load: a copy of both starts only
 * when both are of one moment.
 */
const bin = postgresqlFolder() ?? "";
const skip = bin === "" ? "PostgreSQL is not installed: apt-get install postgresql" : false;
const SNAPSHOTS = howMany({ everyday: 2, deep: 20 });
const SIZES = { data: 512n * MIB, wal: 256n * MIB };

interface Pair {
  data: PublishedVolume;
  wal: PublishedVolume;
}

async function publishPair(driver: Driver, from: { data?: string; wal?: string } = {}): Promise<Pair> {
  const publish = (what: "data" | "wal") =>
    publishVolume(siteOf(driver), freshName(what), {
      access: "mount",
      size: SIZES[what],
      snapshotId: from[what],
    });
  return { data: await publish("data"), wal: await publish("wal") };
}

async function undo({ data, wal }: Pair): Promise<void> {
  await data.undo();
  await wal.undo();
}

/** Starts a copy of the pair and hands it to `inspect`; nothing of it is left. */
async function withCopy(
  driver: Driver,
  snapshots: { data: string; wal: string },
  inspect: (copy: Postgresql) => Promise<void>,
): Promise<void> {
  const pair = await publishPair(driver, snapshots);
  const sockets = join(driver.folder, freshName("pg"));
  const copy = await Postgresql.at(bin, pair.data.target, pair.wal.target, sockets);
  try {
    await copy.adopt();
    await inspect(copy);
  } finally {
    await copy.stop();
    await undo(pair);
  }
}

/** All that was acknowledged is there, the books balance, and no page or index is corrupt. */
async function audit(copy: Postgresql, acknowledged: number): Promise<void> {
  await copy.start();
  const [last, rows] = (await copy.query("SELECT max(n), count(*) FROM commits")).split("|").map(Number);
  assert.ok(Number(last) >= acknowledged, `${acknowledged} was acknowledged, ${last} is the last`);
  assert.equal(rows, last, "no commit is missing in between");
  const sums = await copy.query(`SELECT (SELECT sum(abalance) FROM pgbench_accounts),
    (SELECT sum(tbalance) FROM pgbench_tellers), (SELECT sum(bbalance) FROM pgbench_branches),
    (SELECT coalesce(sum(delta), 0) FROM pgbench_history)`);
  assert.equal(new Set(sums.split("|")).size, 1, `balances ${sums}`);
  assert.notEqual(await copy.query("SELECT count(*) FROM pgbench_history"), "0", "pgbench was running");
  await copy.amcheck();
}

for (const pool of ["xfs", "btrfs"] as PoolType[]) {
  describe(`PostgreSQL on two volumes of a ${pool} pool`, { skip }, () => {
    test(`${SNAPSHOTS} group snapshots under load recover whole; two snapshots around a checkpoint do not`, async (t) => {
      const driver = await prepareDriver({ pool, poolSize: "8Gi" });
      const undos: (() => Promise<void>)[] = [() => driver.dispose()];
      t.after(async () => {
        for (const each of undos.reverse()) await each();
      });
      // PostgreSQL refuses to run as root, and its user has to reach the volumes.
      await chmod(driver.folder, 0o711);
      await driver.start();
      const pair = await publishPair(driver);
      undos.push(() => undo(pair));
      const live = await Postgresql.at(bin, pair.data.target, pair.wal.target, join(driver.folder, "pg"));
      undos.push(() => live.stop());
      await live.init();
      await live.start();
      await live.fill(2);
      undos.push(live.bench(4));
      const committer = await live.commit();
      undos.push(() => committer.stop());
      const more = async (commits: number) => {
        const goal = committer.acknowledged() + commits;
        await eventually(`${commits} more commits`, async () => committer.acknowledged() >= goal);
      };

      for (let round = 0; round < SNAPSHOTS; round += 1) {
        await more(50);
        const acknowledged = committer.acknowledged();
        const { groupSnapshot } = await driver.client.groupController.createVolumeGroupSnapshot({
          name: freshName("group"),
          sourceVolumeIds: [pair.data.id, pair.wal.id],
          parameters: PATIENT,
        });
        assert.ok(groupSnapshot);
        const { groupSnapshotId, snapshots } = groupSnapshot;
        const of = ({ id }: PublishedVolume) =>
          snapshots.find(({ sourceVolumeId }) => sourceVolumeId === id)?.snapshotId ?? "";
        const both = { data: of(pair.data), wal: of(pair.wal) };
        await withCopy(driver, both, (copy) => audit(copy, acknowledged));
        const snapshotIds = Object.values(both);
        await driver.client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
      }

      const snapshot = async (what: keyof Pair) => {
        const request = { name: freshName(what), sourceVolumeId: pair[what].id };
        return (await driver.controller.createSnapshot(request)).snapshot?.snapshotId ?? "";
      };
      const wal = await snapshot("wal");
      await live.query("CHECKPOINT");
      const apart = { data: await snapshot("data"), wal };
      await withCopy(driver, apart, (copy) =>
        assert.rejects(copy.start(), /could not locate a valid checkpoint record/),
      );
      for (const snapshotId of Object.values(apart)) await driver.controller.deleteSnapshot({ snapshotId });
    });
  });
}
