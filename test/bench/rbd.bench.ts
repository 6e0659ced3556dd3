import { existsSync } from "node:fs";
import { startCeph } from "@mooring/store/testing";
import { prepareDriver } from "../csi/support/driver.ts";
import { type Measurement, SHORT } from "./measure.ts";
import { calls } from "./rbd/calls.ts";
import { dataPath } from "./rbd/data-path.ts";
import { openRaw } from "./rbd/raw.ts";

/** Volumes in a Ceph cluster of this machine, against the same work by `rbd`, and by the device that `qemu-storage-daemon` and losetup make. */
export async function run(): Promise<Measurement[]> {
  const undo: (() => Promise<unknown>)[] = [];
  const end = async (): Promise<void> => {
    for (let step = undo.pop(); step !== undefined; step = undo.pop()) await step();
  };
  try {
    const ceph = await startCeph((step) => undo.push(step));
    const raw = await openRaw(ceph);
    undo.push(() => raw.close());
    const { conf, user, keyring, pool } = ceph;
    const place = `conf:${conf},user:${user},pool:${pool},namespace:${await ceph.namespace()},keyring:${keyring}`;
    const driver = await prepareDriver({
      ...{ logLevel: "warn", args: ["--rbd-pool", `default=${place}`] },
      env: { MOORING_POOL_OVERCOMMIT: "10" },
    });
    undo.push(() => driver.dispose());
    await driver.start();
    const results = [...(await calls(driver, raw)), ...(await dataPath(driver, raw))];
    await end();
    return results.map((entry) => ({ ...entry, name: `rbd: ${entry.name}` }));
  } catch (error) {
    // What it has left is in the way, too: but that is not why it failed.
    while (undo.length > 0) await end().catch(() => {});
    throw error;
  }
}

/** It starts a cluster, which takes longer than all else that a short run measures. */
export function missing(): string | undefined {
  if (SHORT) return "it starts a Ceph cluster; by itself: npm run bench rbd -- --short";
  return existsSync("/usr/bin/ceph-osd") ? undefined : "no Ceph here; npm run test:rbd installs it";
}
