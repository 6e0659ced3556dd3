import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import type { PoolType } from "@mooring/engine";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { cutApart, cutTogether, onStage } from "./support/rounds.ts";
import { ONE_NODE } from "./support/sets.ts";
import { type Access, siteOf } from "./support/volume-set.ts";

/**
 * Writers that write one record after the other, in a fixed order over N volumes, each record durable before the next
 * volume gets it. Whatever moment a group snapshot is of, its volumes then are a prefix of what was written.
 */
for (const pool of ["xfs", "btrfs"] as PoolType[]) {
  describe(`ordered writers on a ${pool} pool`, () => {
    let driver: Driver;
    before(async () => {
      driver = await prepareDriver({ pool, poolSize: "8Gi" });
      await driver.start();
    });
    after(() => driver.dispose());

    for (const access of ["mount", "block"] as Access[])
      for (const [count, snapshots] of ONE_NODE) {
        test(`[KEP-002] ${count} ${access} volumes: ${snapshots} group snapshots are each one moment, independent ones are not`, () =>
          onStage(driver.client, [siteOf(driver)], access, count, async (stage) => {
            await cutTogether(stage, snapshots);
            const { violations } = await cutApart(stage);
            assert.notDeepEqual(violations, [], "the harness sees that independent snapshots differ");
          }));
      }
  });
}
