import { after, before, describe, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { proveRow } from "./support/prove-row.ts";
import { POOLS, rowsOf, snapshotsOf, titleOf } from "./support/rows.ts";
import { siteOf } from "./support/volume-set.ts";

/**
 * Writers that write one record after the other, in a fixed order over N volumes, each record durable before the next
 * volume gets it. Whatever moment a group snapshot is of, its volumes then are a prefix of what was written.
 */
for (const pool of POOLS) {
  const rows = rowsOf(pool, false);
  if (rows.length === 0) continue;
  describe(`ordered writers on a ${pool} pool`, () => {
    let driver: Driver;
    before(async () => {
      driver = await prepareDriver({ pool, poolSize: "8Gi" });
      await driver.start();
    });
    after(() => driver.dispose());

    for (const row of rows) {
      test(`${titleOf(row)}: ${snapshotsOf(row)} group snapshots are each one moment, independent ones are not`, (t) => {
        covers("KEP-002");
        return proveRow(t, row, driver.client, async () => [siteOf(driver)]);
      });
    }
  });
}
