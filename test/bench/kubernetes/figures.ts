import { setTimeout as delay } from "node:timers/promises";
import { defined } from "@mooring/store";
import { type Measurement, sized } from "../measure.ts";
import type { BenchCluster } from "./cluster.ts";

interface Work {
  name: string;
  count: number;
  /** Of writes; absent: none was set. */
  limit?: number;
  /** The same of reads. A deletion asks the server itself before something is given up for good. */
  reads?: number;
  /** How many MiB there may be at rest afterwards; absent as well. */
  resident?: number;
  seconds: number;
  /** Processor time of the controller before it. */
  before: number;
}

export async function figures(cluster: BenchCluster, work: Work): Promise<Measurement[]> {
  const { name, count, limit, reads, resident, seconds, before } = work;
  const [requests, after] = [await cluster.audit.take(), await cluster.processor()];
  process.stderr.write(`  ${count} ${name}: ${requests.table}\n`);
  const row = (what: string, unit: string, value: number): Measurement => ({
    ...{ name: `${count} ${name}: ${what}`, unit, value },
  });
  return [
    row("elapsed time of each", "ms", (1000 * seconds) / count),
    { ...row("writes of each", "", requests.writes / count), ...defined({ limit }) },
    { ...row("reads of each", "", requests.reads / count), ...defined({ limit: reads }) },
    row("processor time of each", "ms", (1000 * (after - before)) / count),
    row("resident", "MiB", await cluster.resident()),
    ...(resident === undefined
      ? []
      : [{ ...row("resident at rest", "MiB", await atRest(cluster)), limit: resident }]),
  ];
}

/** A process collects its garbage some seconds after it has become idle. */
const REST_MS = sized(15_000, 0);

async function atRest(cluster: BenchCluster): Promise<number> {
  await delay(REST_MS);
  return cluster.resident();
}
