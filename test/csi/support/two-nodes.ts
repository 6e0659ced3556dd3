import { mkdir, mkdtemp } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type CsiClient, connect, createServer } from "@mooring/csi";
import { createDriver } from "@mooring/driver";
import { ENGINE_KINDS, startAgent, startArbiter, startServices } from "@mooring/engine";
import { Events, LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { cleanUp } from "../../../packages/driver/src/testing/world.ts";
import { endServers } from "../../../packages/engine/src/testing/scratch.ts";
import { afterFile } from "../../support/at-end.ts";
import { host } from "./driver.ts";

/** Two nodes of one store, as in a cluster: a controller plugin, and a node plugin with a pool on each node. */
export interface TwoNodes {
  controller: CsiClient;
  nodes: Readonly<Record<(typeof NODES)[number], CsiClient>>;
  path(name: string): string;
}

const NODES = ["node-1", "node-2"] as const;

const registry = () =>
  new ResourceRegistry([
    ...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })),
    { resource: Events, hasStatus: false },
  ]);

export async function startTwoNodes(): Promise<TwoNodes> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-proof-"));
  await mkdir(join(folder, "mounts"));
  const stop = new AbortController();
  const store = await LocalStore.open({ path: join(folder, "store"), registry: registry() });
  const common = { store, logger: silentLogger, signal: stop.signal };
  const done: Promise<void>[] = [];
  const closing: (() => Promise<void> | void)[] = [];
  const end = async () => {
    for (const close of closing) await close();
    stop.abort();
    await Promise.allSettled(done);
    await store.close();
    for (const nodeID of NODES) await endServers(host, join(folder, nodeID));
    await cleanUp(host, folder);
  };
  afterFile(() => endAtRest(end));
  const serve = async (mode: "controller" | "node", nodeID: string): Promise<CsiClient> => {
    const endpoint = `unix://${join(folder, `${mode}-${nodeID}.sock`)}`;
    const stateDir = join(folder, nodeID);
    const server = createServer(createDriver({ ...common, host, nodeID, mode, stateDir }), { endpoint });
    await server.start();
    const client = await connect(endpoint, { timeoutMs: 30_000 });
    closing.push(async () => {
      client.close();
      await server.stop();
    });
    return client;
  };
  for (const nodeID of NODES) {
    const pools = [{ name: `pool-${nodeID}`, type: "xfs" as const, size: 2 * 1024 ** 3 }];
    const stateDir = join(folder, nodeID);
    done.push((await startAgent({ ...common, host, nodeID, stateDir, pools })).done);
  }
  done.push((await startArbiter(common)).done);
  done.push((await startServices(common)).done);
  return {
    controller: await serve("controller", "node-1"),
    nodes: { "node-1": await serve("node", "node-1"), "node-2": await serve("node", "node-2") },
    path: (name) => join(folder, "mounts", name),
  };
}
