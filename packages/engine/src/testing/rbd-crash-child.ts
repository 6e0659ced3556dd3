/**
 * One life of a node with a pool in a Ceph cluster: `rbd-crash-child.ts DIR POOL [LAST]`. POOL: JSON of `{path, rbd}` as a Pool's spec
 * has them. Takes a volume through all that is done to images, and goes on where the last life was killed. Kills itself when a command
 * for the cluster has ended, whatever else is under way: LAST is `WORDS#N`, the Nth that has these words, or `#N`, the Nth of all. Ends
 * with exit code 0 when nothing is left, and with the number of its commands in `DIR/commands`.
 */
import { open, writeFile } from "node:fs/promises";
import { join } from "node:path";
import {
  isAlreadyExists,
  isNotFound,
  LocalStore,
  mutate,
  type Resource,
  silentLogger,
  waitFor,
} from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import type { Pool } from "../api/pool.ts";
import { Snapshots } from "../api/snapshot.ts";
import { Volumes } from "../api/volume.ts";
import { createHost } from "../host/create-host.ts";
import type { Exec } from "../host/host.ts";
import { startAgent } from "../node/index.ts";
import { engineRegistry, NODE, POOL, snapshotObject, until, volumeObject } from "./agent.ts";
import { runPhases } from "./run-phases.ts";
import { MIB } from "./scratch.ts";

const PROGRAMS = ["rbd", "ceph", "qemu-storage-daemon"];
const WAIT_MS = 600_000;
const [dir = "", pool = "{}", last = "#0"] = process.argv.slice(2);
const [wanted = "", which = "0"] = last.split("#");
const spec = JSON.parse(pool) as Required<Pick<Pool["spec"], "path" | "rbd">>;
const base = createHost({ server: true });
let commands = 0;
let matching = 0;
const counted =
  (work: Exec["try"]): Exec["try"] =>
  async (file, args, options) => {
    const result = await work(file, args, options);
    if (!PROGRAMS.includes(file)) return result;
    commands++;
    if (args.join(" ").includes(wanted) && ++matching === Number(which)) process.kill(process.pid, "SIGKILL");
    return result;
  };
const host = { ...base, exec: { run: counted(base.exec.run), try: counted(base.exec.try) } };
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const agent = await startAgent({
  ...{ store, host, nodeID: NODE, logger: silentLogger, signal: stop.signal, leases: {} },
  stateDir: join(dir, "state"),
  pools: [{ name: POOL, type: "rbd", shared: true, ...spec }],
});

const made = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error;
};
const wantOn = (name: string, nodeID: string): Promise<unknown> =>
  mutate(store, Volumes, { name }, (volume) => {
    volume.spec.nodeID = nodeID;
  });
const inState = (name: string, state: string) =>
  until(store, Volumes, name, (v) => v.status?.state === state);

async function attached(name: string): Promise<string> {
  await wantOn(name, NODE);
  return (await inState(name, "attached")).status?.device ?? "";
}

async function detached(name: string): Promise<void> {
  await wantOn(name, "");
  await inState(name, "detached");
}

async function gone(resource: Resource, name: string): Promise<void> {
  await store.delete(resource, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  const signal = AbortSignal.timeout(WAIT_MS);
  await waitFor(store, { resource, key: { name } }, (object) => object === undefined, signal);
}

async function write(name: string, text: string): Promise<void> {
  const file = await open(await attached(name), "rs+");
  await file.write(text, 0);
  await file.close();
}

async function expect(name: string, text: string): Promise<void> {
  const file = await open(await attached(name), "r");
  const { buffer } = await file.read(Buffer.alloc(text.length), 0, text.length, 0);
  await file.close();
  if (buffer.toString() !== text) throw new Error(`${name} has ${JSON.stringify(buffer.toString())}`);
}

/** A client that was killed in mid-work counts for half a minute: until then what it had open is in the trash. */
async function trashEmptied(): Promise<void> {
  const { user, keyring, pool: name, namespace = "" } = spec.rbd;
  const which = ["--conf", spec.path, "--id", user, "--keyring", keyring ?? "", "--pool", name];
  const list = [...which, "--namespace", namespace, "trash", "ls", "--all"];
  const isEmpty = async () => (await base.exec.run("rbd", list)).stdout.trim() === "";
  await eventually("Ceph's trash to be empty", isEmpty, { withinMs: WAIT_MS });
}

/** Every phase can be done again from its start. */
const phases: (() => Promise<unknown>)[] = [
  async () => {
    await store.create(Volumes, volumeObject("v-p-1", { volumeMode: "Block" })).catch(made);
    await inState("v-p-1", "detached");
  },
  () => write("v-p-1", "first."),
  async () => {
    await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1")).catch(made);
    await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
  },
  () => write("v-p-1", "second"),
  async () => {
    const source = { kind: "Snapshot" as const, name: "s-p-1" };
    const copy = volumeObject("v-p-2", { volumeMode: "Block", size: 96 * MIB, source });
    await store.create(Volumes, copy).catch(made);
    await inState("v-p-2", "detached");
  },
  async () => {
    await expect("v-p-2", "first.");
    await mutate(store, Volumes, { name: "v-p-2" }, (volume) => {
      volume.spec.size = 128 * MIB;
    });
    await until(store, Volumes, "v-p-2", (v) => v.status?.size === 128 * MIB);
  },
  () => expect("v-p-1", "second"),
  () => detached("v-p-1"),
  () => gone(Volumes, "v-p-1"),
  () => expect("v-p-2", "first."),
  () => detached("v-p-2"),
  () => gone(Volumes, "v-p-2"),
  () => gone(Snapshots, "s-p-1"),
  trashEmptied,
];

await runPhases(dir, phases);
await nothingSleeps({ store });
stop.abort();
await agent.done;
await store.close();
await writeFile(join(dir, "commands"), String(commands));
