import { test } from "node:test";
import { howMany } from "@mooring/store/testing";
import { startDriver } from "../csi/support/driver.ts";
import { fuzzDriver, SEED } from "./support/fuzz-driver.ts";

const REQUESTS = howMany({ everyday: 120, full: 2_000, deep: 200_000 });

test(`${REQUESTS} random and mutated requests find no crash, no hang and no leak (seed ${SEED})`, async () => {
  await fuzzDriver(await startDriver({ pool: "xfs" }), REQUESTS);
});
