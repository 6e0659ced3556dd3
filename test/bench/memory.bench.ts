import { fileURLToPath } from "node:url";
import { ConfigMaps, Namespaces, PersistentVolumeClaims, type RestStore, waitFor } from "@mooring/store";
import { claim } from "../support/manifests.ts";
import { restText } from "../support/rest.ts";
import { Up } from "../support/up.ts";
import { load, type Measurement, sized } from "./measure.ts";
import { accepted, patience } from "./memory/accepted.ts";
import { Churn, configMap } from "./memory/churn.ts";
import { type Resident, settled } from "./memory/resident.ts";

const PROGRAM = fileURLToPath(new URL("../../mooring", import.meta.url));
const CLAIMS = sized(500, 5);
const OBJECTS = sized(20_000, 200);
/** The churn is measured after the first part of a step, and after each step. */
const STEP = sized(10_000, 200);
/** How far the churn goes. */
const OPERATIONS = Number(process.env["MOORING_BENCH_OPERATIONS"] ?? sized(100_000, 400));
const IN_FLIGHT = 32;
const NAMESPACE = "bench";
const GROWTH = 1.1;

interface State extends Resident {
  /** Used of V8's heap, with garbage that has not been collected yet. */
  heap: number;
}

async function withStore(up: Up, work: (store: RestStore) => Promise<void>): Promise<void> {
  const store = await up.store();
  try {
    await work(store);
  } finally {
    store.close();
  }
}

/** Has a process that has just started do `work` in a namespace, which is deleted afterwards. */
async function inNamespace(up: Up, work: (store: RestStore) => Promise<void>): Promise<void> {
  const key = { name: NAMESPACE };
  await up.end("SIGTERM");
  await up.start();
  await withStore(up, async (store) => {
    const object = { apiVersion: "v1", kind: "Namespace", metadata: key };
    await accepted(() => store.create(Namespaces, object));
    await work(store);
  });
  // It may have been started again, and listen at another port.
  await withStore(up, async (store) => {
    await accepted(() => store.delete(Namespaces, key));
    await waitFor(store, { resource: Namespaces, key }, (item) => item === undefined, patience());
  });
}

/** Reads the memory of the process at rest, and prints it. */
async function stateOf(up: Up, what: string): Promise<State> {
  const now = await settled(up.pid);
  const { body } = await restText(up.kubeconfig, "/metrics");
  const heap = Number(/^nodejs_heap_size_used_bytes (\S+)/m.exec(body)?.[1] ?? Number.NaN) / 2 ** 20;
  const [all, own, files, used] = [now.all, now.own, now.files, heap].map((value) => value.toFixed(1));
  process.stderr.write(`  ${what}: ${all} MiB resident (own ${own}, files ${files}), heap ${used}\n`);
  return { ...now, heap };
}

interface Baseline {
  state: State;
  name: string;
  /** Of what is resident; default none. */
  limit?: number;
}

function measurements(what: string, state: State, beside?: Baseline, limit?: number): Measurement[] {
  const row = (of: "all" | "own" | "heap", label: string): Measurement => ({
    ...{ name: `${what}: ${label}`, unit: "MiB", value: state[of] },
    ...(beside && { baseline: beside.state[of], baselineName: beside.name }),
    ...(limit !== undefined && of === "all" && { limit: Math.round(limit) }),
  });
  return [row("all", "resident"), row("own", "own"), row("heap", "heap")];
}

async function fill(store: RestStore): Promise<void> {
  await load(OBJECTS, IN_FLIGHT, (index) =>
    accepted(() => store.create(ConfigMaps, configMap(NAMESPACE, `filler-${index}`))),
  );
}

async function bind(store: RestStore): Promise<void> {
  const resource = PersistentVolumeClaims;
  await load(CLAIMS, IN_FLIGHT, async (index) => {
    const key = { namespace: NAMESPACE, name: `claim-${index}` };
    await accepted(() => store.create(resource, claim(key.namespace, key.name, { size: "1Mi" })));
    await waitFor(store, { resource, key }, (item) => item?.status?.phase === "Bound", patience());
  });
}

async function churn(up: Up, store: RestStore): Promise<Measurement[]> {
  const churned = new Churn(store, NAMESPACE);
  const all: Measurement[] = [];
  let beside: Baseline | undefined;
  for (let next = STEP / 10; next <= OPERATIONS; next = next < STEP ? STEP : next + STEP) {
    await churned.upTo(next);
    const what = `after ${next} operations`;
    const state = await stateOf(up, what);
    const limit = next > STEP && beside !== undefined ? beside.state.all * GROWTH : undefined;
    all.push(...measurements(what, state, beside, limit));
    if (next <= STEP) beside = { state, name: what };
  }
  return all;
}

async function measure(up: Up): Promise<Measurement[]> {
  await up.start();
  const rest = await stateOf(up, "at rest");
  const beside = { state: rest, name: "at rest" };
  const all = measurements("at rest", rest, undefined, 120);
  const add = async (what: string, limit?: number): Promise<void> => {
    all.push(...measurements(what, await stateOf(up, what), beside, limit));
  };
  await inNamespace(up, async (store) => {
    await bind(store);
    await add(`with ${CLAIMS} claims`);
  });
  await inNamespace(up, async (store) => {
    await fill(store);
    await add(`with ${OBJECTS} objects`, 300);
    await up.end("SIGTERM");
    await up.start();
    await add(`with ${OBJECTS} objects, started again`, 300);
  });
  await inNamespace(up, async (store) => void all.push(...(await churn(up, store))));
  return all;
}

/** Resident memory of `mooring up`, as operators start it: at rest, with claims, with objects, and as changes go on. */
export async function run(): Promise<Measurement[]> {
  const up = await Up.create({ program: [PROGRAM], poolSize: "8Gi" });
  try {
    return await measure(up);
  } catch (error) {
    process.stderr.write(`mooring up ${up.alive ? "runs" : "has ended"}: ${up.output.slice(-2000)}\n`);
    throw error;
  } finally {
    await up.dispose();
  }
}
