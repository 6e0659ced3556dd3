import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { Events, Leases, LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { ENGINE_KINDS } from "../api/kinds.ts";
import { Pools } from "../api/pool.ts";
import { startArbiter } from "../cluster/arbiter/index.ts";
import { startServices } from "../cluster/services/index.ts";
import { createHost } from "../host/create-host.ts";
import type { Host } from "../host/host.ts";
import { startAgent } from "../node/index.ts";
import { POOL, until } from "./agent.ts";
import { GIB, scratch, sparse } from "./scratch.ts";

export interface SharedNodes {
  store: LocalStore;
  host: Host;
  dir: string;
  /** Where a node sees the image of a volume or snapshot. */
  image(nodeID: string, id: string): string;
}

/** Two agents of one store that share the folder of a pool. */
export async function twoNodes(t: TestContext): Promise<SharedNodes> {
  const host = createHost();
  const stop = new AbortController();
  const running: Promise<void>[] = [];
  const stores: LocalStore[] = [];
  // Before the folder is cleaned up: hooks run in the order in which they were made.
  const end = async () => {
    stop.abort();
    await Promise.allSettled(running);
    for (const store of stores) await store.close();
  };
  t.after(() => endAtRest(end, { idle: true }));
  const dir = await scratch(t, host);
  const disk = await sparse(join(dir, "disk"), 2 * GIB);
  const { path: device } = await host.loops.attach(disk);
  await host.exec.run("mkfs.xfs", ["-q", "-m", "reflink=1", device]);
  const folder = join(dir, "shared");
  await mkdir(folder);
  await host.mounts.mount({ source: device, target: folder, fsType: "xfs" });
  const kinds = [...ENGINE_KINDS].map((resource) => ({ resource, hasStatus: true }));
  const plain = [Events, Leases].map((resource) => ({ resource, hasStatus: false }));
  const registry = new ResourceRegistry([...kinds, ...plain]);
  const store = await LocalStore.open({ path: join(dir, "store"), registry });
  stores.push(store);
  const common = { store, logger: silentLogger, signal: stop.signal };
  for (const nodeID of ["node-1", "node-2"]) {
    const pools = [{ name: POOL, type: "xfs" as const, shared: true, path: folder }];
    const stateDir = join(dir, nodeID);
    running.push((await startAgent({ ...common, host, nodeID, stateDir, pools, leases: {} })).done);
  }
  running.push((await startArbiter(common)).done, (await startServices(common)).done);
  await until(store, Pools, POOL, ({ status }) => status?.nodes?.length === 2);
  const image = (nodeID: string, id: string) =>
    join(dir, nodeID, "pools", POOL, "mnt", "images", `${id}.img`);
  return { store, host, dir, image };
}
