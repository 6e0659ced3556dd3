import { mkdir, mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type Driver, prepareDriver } from "../csi/support/driver.ts";
import { probes, volumes } from "./csi/calls.ts";
import { dataPath } from "./csi/data-path.ts";
import { type Echo, startEcho } from "./csi/echo-client.ts";
import { listing } from "./csi/listing.ts";
import { COLLECTS, memory } from "./csi/memory.ts";
import { mounts } from "./csi/mounts.ts";
import type { Measurement } from "./measure.ts";

/** What a part of the measurements is given: a fresh driver, a server that does nothing, a folder in the pool. */
interface Bench {
  driver: Driver;
  echo: Echo;
  raw: string;
}

async function withDriver(
  measure: (bench: Bench) => Promise<Measurement[]>,
  more: NodeJS.ProcessEnv = {},
): Promise<Measurement[]> {
  const env = { MOORING_POOL_OVERCOMMIT: "10", ...more };
  const driver = await prepareDriver({ pool: "xfs", poolSize: "16Gi", logLevel: "warn", env });
  const folder = await mkdtemp(join(tmpdir(), "mooring-bench-"));
  const echo = await startEcho(folder);
  try {
    await driver.start();
    const raw = join(driver.stateDir, "pools", "default", "mnt", "raw");
    await mkdir(raw);
    const results = await measure({ driver, echo, raw });
    await rm(raw, { recursive: true });
    return results.map((entry) => ({ ...entry, name: `driver: ${entry.name}` }));
  } finally {
    await echo.end();
    await driver.dispose();
    await rm(folder, { recursive: true, force: true });
  }
}

type Run = { run(): Promise<Measurement[]> };

/** Calls by the socket, against a server that does nothing, and against the same work by raw commands. */
export const calls: Run = {
  run: () =>
    withDriver(async ({ driver, echo, raw }) => [
      ...(await probes(driver, echo)),
      ...(await volumes(driver, echo, raw)),
      ...(await mounts(driver, echo, raw)),
    ]),
};

export const list: Run = { run: () => withDriver(({ driver, echo }) => listing(driver, echo)) };

export const rest: Run = {
  run: () => withDriver(({ driver }) => memory(driver), { NODE_OPTIONS: `--require=${COLLECTS}` }),
};

export const data: Run = { run: () => withDriver(({ driver, raw }) => dataPath(driver, raw)) };
