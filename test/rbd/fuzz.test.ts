import { after, test } from "node:test";
import { cephOfFile, howMany, withCeph } from "@mooring/store/testing";
import { prepareDriver } from "../csi/support/driver.ts";
import { fuzzDriver, SEED } from "../fuzz/support/fuzz-driver.ts";
import { rbdSettings } from "./support/settings.ts";

const withCluster = await withCeph();
let dispose = async (): Promise<void> => {};
// Before the cluster's end: volumes are closed while it is there.
after(() => dispose());
const cluster = cephOfFile(after);
const REQUESTS = howMany({ everyday: 0, full: 150, deep: 20_000 });

test(
  `${REQUESTS} random and mutated requests for volumes in a Ceph cluster find no crash, no hang and no leak (seed ${SEED})`,
  withCluster,
  async () => {
    const settings = await rbdSettings(await cluster());
    const driver = await prepareDriver({ args: ["--rbd-pool", `default=${settings}`] });
    dispose = () => driver.dispose();
    await driver.start();
    await fuzzDriver(driver, REQUESTS);
  },
);
