/**
 * One life of a node that shares a pool: `lease-crash-child.ts DIR NODE [dies|-] [DURATION_MS]`. The folder that all nodes see is
 * `DIR/shared`. Takes a volume through its life, and goes on where the last life of whatever node was killed. With
 * `dies` it kills itself while a file system is mounted. `DURATION_MS`: of leases. Ends with exit code 0 when nothing of the volume is left.
 */
import { mkdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { setTimeout as sleep } from "node:timers/promises";
import {
  isAlreadyExists,
  isNotFound,
  LocalStore,
  listAll,
  mutate,
  silentLogger,
  waitFor,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { NodeAgents } from "../api/node-agent.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { createHost } from "../host/create-host.ts";
import { makeFilesystem } from "../host/filesystems.ts";
import { startAgent } from "../node/index.ts";
import { engineRegistry, POOL, until, volumeObject } from "./agent.ts";
import { armLife } from "./passed.ts";
import { reportNode } from "./report-node.ts";
import { runPhases } from "./run-phases.ts";

const NAME = "v-p-1";
const WAIT_MS = 90_000;
const [dir = "", nodeID = "", end = "-", duration = "8000"] = process.argv.slice(2);
const dies = end === "dies";
const ended = armLife(dir);
const host = createHost();
const stop = new AbortController();
const stateDir = join(dir, nodeID);
const target = join(dir, `mount-${nodeID}`);
const file = join(target, "f");

const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
// What a node does with the mounts of pods that have ended meanwhile.
if ((await host.mounts.at(target)).length > 0 && !dies) await host.mounts.unmount(target);
const agent = await startAgent({
  ...{ store, host, nodeID, stateDir, logger: silentLogger, signal: stop.signal },
  pools: [{ name: POOL, type: "xfs", shared: true, path: join(dir, "shared") }],
  // By default short, so that a takeover is; long enough for a machine with a lot to do.
  leases: { durationMs: Number(duration), safetyMs: 2000 },
  releaseOnStop: true,
});

/** What the observer reports of nodes that are silent. There is one process of one node at a time. */
async function fenceOthers(): Promise<void> {
  for (const { metadata, status } of (await listAll(store, NodeAgents)).items) {
    if (metadata.name === nodeID || status?.state !== "Ready") continue;
    await mutate(
      store,
      NodeAgents,
      { name: metadata.name },
      { change: reportNode("Fenced"), subresource: "status" },
    );
  }
}

const place = (node: string): Promise<unknown> =>
  mutate(store, Volumes, { name: NAME }, (volume) => {
    volume.spec.nodeID = node;
  });

const release = (): Promise<unknown> =>
  until(store, Volumes, NAME, ({ status }) => status?.state === "detached" && status.ownerID === "");

/** The device once the record and this machine agree on it: after a crash the record may name one that is gone. */
async function attached(): Promise<{ device: string; formatted?: string }> {
  await fenceOthers();
  await place(nodeID);
  const end = performance.now() + WAIT_MS;
  for (;;) {
    const volume: Volume = await store.get(Volumes, { name: NAME });
    const { state, currentNodeID, device = "", formatted } = volume.status ?? {};
    const loop = (await host.loops.list()).find(({ path }) => path === device);
    const ours = loop?.backingFile.startsWith(`${stateDir}/`) === true && loop.fenced !== true;
    if (state === "attached" && currentNodeID === nodeID && ours) {
      return formatted === undefined ? { device } : { device, formatted };
    }
    if (performance.now() > end) throw new Error(`not attached: ${JSON.stringify(volume)}`);
    await sleep(50);
  }
}

async function mount(): Promise<void> {
  const { device, formatted } = await attached();
  await mkdir(target, { recursive: true });
  await makeFilesystem(host.exec, { device, type: "ext4", formatted });
  const put = (volume: Volume): void => {
    if (volume.status !== undefined) volume.status.formatted = "ext4";
  };
  await mutate(store, Volumes, { name: NAME }, { change: put, subresource: "status" });
  await host.mounts.mount({ source: device, target, fsType: "ext4" });
}

/** Every phase can be done again from its start, by every node. */
const phases: (() => Promise<unknown>)[] = [
  async () => {
    await store.create(Volumes, volumeObject(NAME)).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
    });
    await release();
  },
  async () => {
    await mount();
    await writeFile(file, "kept", { flush: true });
  },
  async () => {
    if (dies) process.kill(process.pid, "SIGKILL");
    if ((await host.mounts.at(target)).length === 0) await mount();
    const text = await readFile(file, "utf8");
    if (text !== "kept") throw new Error(`the volume has ${JSON.stringify(text)}`);
    await host.mounts.unmount(target);
  },
  async () => {
    await fenceOthers();
    await place("");
    await release();
  },
  async () => {
    await store.delete(Volumes, { name: NAME }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await waitFor(
      store,
      { resource: Volumes, key: { name: NAME } },
      (v) => v === undefined,
      AbortSignal.timeout(WAIT_MS),
    );
  },
];

await runPhases(dir, phases);
await nothingSleeps({ store });
stop.abort();
await agent.done;
await store.close();
await ended();
