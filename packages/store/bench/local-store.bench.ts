import { type FileHandle, mkdtemp, open, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { monitorEventLoopDelay } from "node:perf_hooks";
import {
  defined,
  LocalStore,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  ResourceRegistry,
} from "@mooring/store";

export interface Measurement {
  name: string;
  unit: string;
  value: number;
  /** The same unit, measured in the same run. */
  baseline: number;
  baselineName: string;
  ratio: number;
  /** What the value should stay below. */
  limit?: number;
}

/** A short run shows that it can be measured, not what comes out. */
const SHORT = process.argv.includes("--short");
const OBJECTS = SHORT ? 1000 : 20_000;
const LISTED = SHORT ? 500 : 10_000;
const WRITES = SHORT ? 20 : 300;
const registry = new ResourceRegistry([{ resource: PersistentVolumeClaims, hasStatus: true }]);

/** LocalStore against an fsynced append to a file, and against its own limits. Takes a few seconds. */
export async function run(): Promise<Measurement[]> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-bench-"));
  try {
    return await measure(folder);
  } finally {
    await rm(folder, { recursive: true, force: true });
  }
}

async function measure(folder: string): Promise<Measurement[]> {
  const path = join(folder, "store");
  const store = await LocalStore.open({ path, registry });
  const file = await open(join(folder, "append"), "a");
  const append = { baseline: await msPerAppend(file), baselineName: "fsynced append" };
  const empty = await msPerWrite(store, "empty", 1);
  const many = await msPerWrite(store, "many", 64);
  await fill(store);
  const full = await msPerWrite(store, "full", 1);
  const results = [
    measurement("durable write, 1 in flight", empty, append),
    measurement("durable write, 64 in flight", many, append),
    measurement(`durable write among ${OBJECTS} objects`, full, {
      baseline: empty,
      baselineName: "empty store",
    }),
    ...(await listing(store)),
  ];
  await store.close();
  await file.close();
  return [...results, await opening(path)];
}

function measurement(
  name: string,
  value: number,
  against: { baseline: number; baselineName: string },
  limit?: number,
): Measurement {
  const ratio = value / against.baseline;
  return {
    name: `LocalStore: ${name}`,
    unit: "ms",
    value,
    ...against,
    ratio,
    ...defined({ limit }),
  };
}

function claim(name: string): PersistentVolumeClaim {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name,
      namespace: "default",
      labels: { app: "bench" },
      annotations: { note: "x".repeat(400) },
    },
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
      storageClassName: "mooring",
    },
  };
}

/** One object's JSON and an fsync per write: what any durable store has to pay at least. */
async function msPerAppend(file: FileHandle): Promise<number> {
  const line = `${JSON.stringify(claim("baseline"))}\n`;
  const startedAt = performance.now();
  for (let i = 0; i < WRITES; i++) {
    await file.write(line);
    await file.sync();
  }
  return (performance.now() - startedAt) / WRITES;
}

async function msPerWrite(store: LocalStore, prefix: string, inFlight: number): Promise<number> {
  const writes = WRITES * Math.min(inFlight, 8);
  let next = 0;
  const worker = async () => {
    while (next < writes) await store.create(PersistentVolumeClaims, claim(`${prefix}-${next++}`));
  };
  const startedAt = performance.now();
  await Promise.all(Array.from({ length: inFlight }, worker));
  return (performance.now() - startedAt) / writes;
}

async function fill(store: LocalStore): Promise<void> {
  for (let i = 0; i < OBJECTS; i += 500) {
    const batch = Array.from({ length: 500 }, (_, n) =>
      store.create(PersistentVolumeClaims, claim(`c-${i + n}`)),
    );
    await Promise.all(batch);
  }
}

/** As the API server streams it: unparsed, piece by piece. The baseline is parsing and printing the same objects at once. */
async function listing(store: LocalStore): Promise<Measurement[]> {
  const delays = monitorEventLoopDelay({ resolution: 1 });
  delays.enable();
  const startedAt = performance.now();
  const texts: string[] = [];
  const { pages } = store.listJson(PersistentVolumeClaims, { namespace: "default", limit: LISTED });
  for await (const page of pages) texts.push(...page);
  const value = performance.now() - startedAt;
  const { items } = await store.list(PersistentVolumeClaims, { limit: LISTED });
  delays.disable();
  const again = performance.now();
  JSON.stringify(texts.map((text) => JSON.parse(text) as unknown));
  const atOnce = { baseline: performance.now() - again, baselineName: "parse and print at once" };
  return [
    measurement(`list of ${items.length}, unparsed`, value, atOnce),
    measurement("longest delay of the event loop while listing", delays.max / 1e6, atOnce, 50),
  ];
}

async function opening(path: string): Promise<Measurement> {
  const startedAt = performance.now();
  const store = await LocalStore.open({ path, registry });
  const value = performance.now() - startedAt;
  const readAll = performance.now();
  await store.list(PersistentVolumeClaims);
  const reading = { baseline: performance.now() - readAll, baselineName: "reading them all" };
  await store.close();
  return measurement(`open with ${OBJECTS} objects`, value, reading, 1000);
}
