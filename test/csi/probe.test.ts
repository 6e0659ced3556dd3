import assert from "node:assert/strict";
import { mkdir, open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { type Driver, prepareDriver } from "./support/driver.ts";
import { codeOf, createVolume, fails } from "./support/volumes.ts";

async function withDriver(work: (driver: Driver) => Promise<void>, poolSize = "2Gi"): Promise<void> {
  const driver = await prepareDriver({ poolSize });
  try {
    await work(driver);
  } finally {
    await driver.dispose();
  }
}

test("a program that is missing makes Probe FAILED_PRECONDITION, and names it", everyday(), () => {
  covers("CSI-054", "CSI-064");
  return withDriver(async (driver) => {
    const empty = join(driver.folder, "empty");
    await mkdir(empty);
    await driver.start({ PATH: empty });
    await eventually(
      "the result for the pool",
      async () => (await codeOf(driver.client.identity.probe({}))) !== "OK",
    );
    await fails("FAILED_PRECONDITION", driver.client.identity.probe({}), /flock|mkfs|losetup/);
    await driver.restart();
    assert.equal((await driver.client.identity.probe({})).ready, true, "with the program it is well again");
  });
});

test("a damaged pool makes Probe FAILED_PRECONDITION; nothing is created on it", thorough(), () => {
  covers("CSI-058", "CSI-062", "CSI-035");
  return withDriver(async (driver) => {
    await driver.start();
    const volume = await createVolume(driver, "before");
    await driver.process.end("SIGTERM");
    const file = await open(join(driver.stateDir, "pools/default/pool.img"), "r+");
    await file.write(Buffer.alloc(65_536, 0x55), 0, 65_536, 0);
    await file.close();
    await driver.start();
    await eventually("the result", async () => (await codeOf(driver.client.identity.probe({}))) !== "OK");
    await fails("FAILED_PRECONDITION", driver.client.identity.probe({}), /default/);
    assert.notEqual(await codeOf(createVolume(driver, "after")), "OK");
    assert.ok(volume.volumeId);
  });
});
