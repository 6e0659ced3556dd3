/**
 * One life of a node: `crash-child.ts DIR POOLTYPE`. Runs a volume through everything that can happen to it, and goes
 * on where the last life was killed. Ends with exit code 0 when nothing of it is left.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
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
import { Pools, type PoolType } from "../api/pool.ts";
import { Snapshots } from "../api/snapshot.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { createHost } from "../host/create-host.ts";
import { makeFilesystem } from "../host/filesystems.ts";
import { startAgent } from "../node/index.ts";
import { engineRegistry, NODE, POOL, snapshotObject, until, volumeObject } from "./agent.ts";
import { keepersOf } from "./keepers.ts";
import { armLife } from "./passed.ts";
import { runPhases } from "./run-phases.ts";
import { GIB, MIB } from "./scratch.ts";
import { loseDevice, snapshotTroubles, volumeTroubles } from "./troubles.ts";

const [dir = "", type = "xfs"] = process.argv.slice(2);
const block = type !== "directory";
/** Nothing can be moved out of a subvolume. */
const movable = type === "xfs";
const poolFolder = join(dir, "state", "pools", POOL);
const ended = armLife(dir);
const host = createHost();
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const agent = await startAgent({
  store,
  host,
  nodeID: NODE,
  stateDir: join(dir, "state"),
  logger: silentLogger,
  pools: [{ name: POOL, type: type as PoolType, size: GIB }],
  signal: stop.signal,
});

const made = (error: unknown): void => {
  if (!isAlreadyExists(error)) throw error;
};
const wantOn = (name: string, nodeID: string): Promise<unknown> =>
  mutate(store, Volumes, { name }, (volume) => {
    volume.spec.nodeID = nodeID;
  });
const inState = (name: string, state: string): Promise<unknown> =>
  until(store, Volumes, name, (v) => v.status?.state === state);
const gone = async (resource: Resource, name: string): Promise<void> => {
  await store.delete(resource, { name }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
  await waitFor(store, { resource, key: { name } }, (o) => o === undefined, AbortSignal.timeout(60_000));
};
const place = { store, host, dir };
const target = (name: string): string => join(dir, `mount-${name}`);

async function mount(name: string): Promise<void> {
  await wantOn(name, NODE);
  const volume = await until(store, Volumes, name, (v) => v.status?.state === "attached");
  const { device = "", formatted } = volume.status ?? {};
  await mkdir(target(name), { recursive: true });
  if (!block) return host.mounts.bind(device, target(name), { readOnly: false });
  await makeFilesystem(host.exec, { device, type: "ext4", formatted });
  await mutate(
    store,
    Volumes,
    { name },
    {
      change: (v) => {
        if (v.status !== undefined) v.status.formatted = "ext4";
      },
      subresource: "status",
    },
  );
  await host.mounts.mount({ source: device, target: target(name), fsType: "ext4" });
}

async function unmount(name: string): Promise<void> {
  await host.mounts.unmount(target(name));
  await wantOn(name, "");
  await inState(name, "detached");
}

/** The pool's file system gives up while an image is open that no workload uses. */
async function failPool(): Promise<void> {
  await wantOn("v-p-2", NODE);
  await inState("v-p-2", "attached");
  const folder = join(poolFolder, "mnt");
  await host.exec.try("xfs_io", ["-x", "-c", "shutdown", folder]);
  await eventually(
    "the pool to be mounted anew",
    async () => (await host.exec.try("ls", [join(folder, "images")])).exitCode === 0,
    { lastSeen: async () => JSON.stringify((await store.get(Pools, { name: POOL })).status) },
  );
  await wantOn("v-p-2", "");
  await inState("v-p-2", "detached");
}

/** Every phase can be done again from its start. */
const phases: (() => Promise<unknown>)[] = [
  async () => {
    await store.create(Volumes, volumeObject("v-p-1")).catch(made);
    await inState("v-p-1", "detached");
  },
  async () => {
    await mount("v-p-1");
    await writeFile(join(target("v-p-1"), "f"), "kept", { flush: true });
    // A folder in use cannot be copied.
    if (!block) await host.mounts.unmount(target("v-p-1"));
  },
  async () => {
    // A folder has no file that could grow.
    if (!block) return;
    // What an earlier life has reported of a volume, when the room came after its end.
    const condition = { type: "WritersHeld", status: "True" as const, reason: "PoolFull", message: "" };
    const reported = { ...condition, lastTransitionTime: "2026-01-01T00:00:00Z" };
    const put = (volume: Volume): Volume =>
      volume.status === undefined
        ? volume
        : { ...volume, status: { ...volume.status, conditions: [reported] } };
    await mutate(store, Volumes, { name: "v-p-1" }, { change: put, subresource: "status" });
    await mutate(store, Pools, { name: POOL }, (pool) => {
      pool.spec.size = GIB + 256 * MIB;
      pool.spec.overcommit = 2;
    });
    await until(store, Pools, POOL, ({ status }) => (status?.totalBytes ?? 0) > GIB);
    await until(store, Volumes, "v-p-1", ({ status }) => status?.conditions?.[0]?.status === "False");
  },
  async () => {
    if (!block) return;
    for (const wanted of [true, false]) {
      await mutate(store, Pools, { name: POOL }, (pool) => {
        pool.spec.holdWriters = wanted;
      });
      const isThere = async (): Promise<boolean> => (await keepersOf(poolFolder)).length > 0;
      await eventually(
        "the pool to begin or end to hold its writers",
        async () => (await isThere()) === wanted,
      );
    }
  },
  async () => {
    await store.create(Snapshots, snapshotObject("s-p-1", "v-p-1")).catch(made);
    await until(store, Snapshots, "s-p-1", (s) => s.status?.readyToUse === true);
  },
  ...(movable ? snapshotTroubles(place, "s-p-1") : []),
  async () => {
    const source = { kind: "Snapshot" as const, name: "s-p-1" };
    // A thick copy where there are any.
    const provisioningType = type === "xfs" ? "thick" : "thin";
    await store
      .create(Volumes, volumeObject("v-p-2", { size: 96 * MIB, source, provisioningType }))
      .catch(made);
    await inState("v-p-2", "detached");
  },
  async () => {
    await mount("v-p-2");
    const text = await readFile(join(target("v-p-2"), "f"), "utf8");
    if (text !== "kept") throw new Error(`the copy has ${JSON.stringify(text)}`);
  },
  async () => {
    await mutate(store, Volumes, { name: "v-p-2" }, (volume) => {
      volume.spec.size = 128 * MIB;
    });
    await until(store, Volumes, "v-p-2", (v) => v.status?.size === 128 * MIB);
  },
  async () => {
    await host.mounts.unmount(target("v-p-1"));
    if (block) await loseDevice(place, "v-p-1");
  },
  () => unmount("v-p-1"),
  ...(movable ? volumeTroubles(place, "v-p-1") : []),
  () => unmount("v-p-2"),
  ...(movable ? [failPool] : []),
  () => gone(Snapshots, "s-p-1"),
  () => gone(Volumes, "v-p-1"),
  () => gone(Volumes, "v-p-2"),
  () => gone(Pools, POOL),
];

await runPhases(dir, phases);
await nothingSleeps({ store });
stop.abort();
await agent.done;
await store.close();
await ended();
