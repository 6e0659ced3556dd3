import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rename } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { getIfAny, LocalStore, mutate, silentLogger } from "@mooring/store";
import { bundleProgram, eventually, everyday, refusingStore, thorough } from "@mooring/store/testing";
import { NodeAgents } from "../../api/node-agent.ts";
import { Pools } from "../../api/pool.ts";
import { type Volume, type VolumeStatus, Volumes } from "../../api/volume.ts";
import { createHost } from "../../host/create-host.ts";
import type { LoopDevice } from "../../host/host.ts";
import { engineRegistry, POOL, until } from "../../testing/agent.ts";
import { GIB, scratch, sparse } from "../../testing/scratch.ts";
import { startAgent } from "../index.ts";
import type { AgentOptions } from "../options.ts";

const host = createHost();
const VOLUME = "v-p-1";
const child = await bundleProgram(new URL("../../testing/lease-crash-child.ts", import.meta.url));
after(child.remove);

interface Survivor {
  options: Omit<AgentOptions, "signal">;
  dir: string;
  store: LocalStore;
  /** The folder that all nodes see. */
  shared: string;
  device(): Promise<LoopDevice | undefined>;
}

/** A node whose agent was killed while a file system on a shared pool's volume is mounted. */
async function survivor(t: TestContext): Promise<Survivor> {
  const stores: LocalStore[] = [];
  // Hooks run in the order in which they were made.
  t.after(() => Promise.all(stores.map((store) => store.close())));
  const dir = await scratch(t, host);
  const { path: disk } = await host.loops.attach(await sparse(join(dir, "disk"), GIB));
  await host.exec.run("mkfs.xfs", ["-q", "-m", "reflink=1", disk]);
  const shared = join(dir, "shared");
  await mkdir(shared);
  await host.mounts.mount({ source: disk, target: shared, fsType: "xfs" });
  const life = spawn(process.execPath, [child.path, dir, "a", "dies"], {
    stdio: ["ignore", "ignore", "inherit"],
  });
  assert.deepEqual(await once(life, "exit"), [null, "SIGKILL"]);
  const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
  stores.push(store);
  const stateDir = join(dir, "a");
  return {
    options: {
      ...{ store, host, nodeID: "a", stateDir, logger: silentLogger, releaseOnStop: true },
      pools: [{ name: POOL, type: "xfs", shared: true, path: shared }],
      leases: { durationMs: 8000, safetyMs: 2000 },
    },
    ...{ dir, store },
    shared,
    device: async () => (await host.loops.list()).find((l) => l.backingFile.startsWith(`${stateDir}/`)),
  };
}

/** Nobody may have the volume before this node's device is fenced, and the guard sees to that. */
async function assertStillGuarded({ store, device }: Survivor): Promise<void> {
  const { status } = await store.get(NodeAgents, { name: "a" });
  assert.equal(status?.state, "Ready");
  assert.equal(status.conditions?.find(({ type }) => type === "Fenced")?.status, "False");
  assert.notEqual(await device(), undefined);
  await eventually("the device to be fenced", async () => (await device())?.fenced === true);
}

test(
  "an agent that is stopped while it starts does not report that its node has no device open",
  everyday(),
  async (t) => {
    const node = await survivor(t);
    const stop = new AbortController();
    // The first thing that it does once it has claimed its node, and before it has read its pools.
    const store = refusingStore(node.options.store, (method) => {
      if (method !== "create") return undefined;
      stop.abort();
      return new Error("stopped");
    });
    await assert.rejects(startAgent({ ...node.options, store, signal: stop.signal }), /stopped/);
    await assertStillGuarded(node);
  },
);

test(
  "an agent whose shared pool did not open does not report that its node has no device open",
  thorough(),
  async (t) => {
    const node = await survivor(t);
    await host.mounts.unmount(node.shared);
    const stop = new AbortController();
    const { done } = await startAgent({ ...node.options, signal: stop.signal });
    try {
      await until(node.store, Pools, POOL, ({ status }) => status?.ready === false);
    } finally {
      stop.abort();
      await done;
    }
    await assertStillGuarded(node);
  },
);

test(
  "an agent that stops after its workloads closes what an earlier one has left, and reports it",
  everyday(),
  async (t) => {
    const node = await survivor(t);
    const { dir, options, store } = node;
    await host.mounts.unmount(join(dir, "mount-a"));
    const stop = new AbortController();
    const { done } = await startAgent({ ...options, signal: stop.signal });
    stop.abort();
    await done;
    assert.equal((await store.get(NodeAgents, { name: "a" })).status?.state, "Gone");
    assert.equal(await node.device(), undefined);
  },
);

/**
 * Another node has replaced the image and has the volume by now; what this one has opened is fenced, and no program uses it. The mount
 * through which it was opened is gone, as with a container that has ended: its path says nothing of the pool.
 */
async function lostMeanwhile({ dir, store, shared, device }: Survivor): Promise<LoopDevice> {
  const fenced = await eventually("the device to be fenced", async () => {
    const found = await device();
    return found?.fenced === true ? found : undefined;
  });
  await host.mounts.unmount(join(dir, "mount-a"));
  await host.exec.run("umount", ["--lazy", join(dir, "a/pools", POOL, "mnt")]);
  const image = join(shared, "images", `${VOLUME}.img`);
  await host.exec.run("cp", ["--reflink=always", image, `${image}.new`]);
  await rename(`${image}.new`, image);
  const there = (volume: Volume): void => {
    volume.spec.nodeID = "b";
    volume.status = { ...volume.status, ownerID: "b", currentNodeID: "b", state: "attached" } as VolumeStatus;
  };
  await mutate(store, Volumes, { name: VOLUME }, there);
  await mutate(store, Volumes, { name: VOLUME }, { change: there, subresource: "status" });
  const now = await host.loops.at(fenced.path);
  assert.equal(now?.backingFile, `/images/${VOLUME}.img`);
  assert.equal(now.deleted, true);
  return fenced;
}

/** As the node does that has deleted the image. */
async function removeVolume({ store }: Survivor): Promise<void> {
  await mutate(store, Volumes, { name: VOLUME }, ({ metadata }) => {
    metadata.finalizers = [];
  });
  await store.delete(Volumes, { name: VOLUME });
  assert.equal(await getIfAny(store, Volumes, { name: VOLUME }), undefined);
}

for (const [what, when] of [
  ["is another node's", everyday()],
  ["is gone", thorough()],
] as const)
  test(
    `a fenced device goes away when its volume ${what}, though the container that opened it has ended`,
    when,
    async (t) => {
      const node = await survivor(t);
      const { path, sequence } = await lostMeanwhile(node);
      if (what === "is gone") await removeVolume(node);
      const stop = new AbortController();
      const { done } = await startAgent({ ...node.options, signal: stop.signal });
      try {
        await eventually(
          "the device to be gone",
          async () => (await host.loops.at(path))?.sequence !== sequence,
        );
      } finally {
        stop.abort();
        await done;
      }
    },
  );
