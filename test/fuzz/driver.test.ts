import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { fuzz } from "@mooring/csi/fuzz";
import { startDriver } from "../csi/support/driver.ts";

/** `MOORING_DEEP=1`: the long form. `MOORING_SEED` repeats a run. */
const REQUESTS = process.env.MOORING_DEEP === "1" ? 200_000 : 2_000;
const seed = Number(process.env.MOORING_SEED ?? Math.floor(Date.now() / 86_400_000));

test(`${REQUESTS} random and mutated requests find no crash, no hang and no leak (seed ${seed})`, async () => {
  const driver = await startDriver({ pool: "xfs" });
  const descriptors = async (): Promise<number> => (await readdir(`/proc/${driver.process.pid}/fd`)).length;
  const before = await descriptors();
  const report = await fuzz(driver.endpoint, {
    folder: join(driver.folder, "fuzz"),
    requests: REQUESTS,
    seed,
  });
  assert.deepEqual(report.findings, []);
  await driver.client.identity.probe({});
  const after = await descriptors();
  assert.ok(after < before + 50, `${before} file descriptors before, ${after} after`);
});
