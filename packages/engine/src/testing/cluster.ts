import { setMaxListeners } from "node:events";
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LocalStore, type ObjectStore, silentLogger } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import type { PoolType, RbdSpec } from "../api/pool.ts";
import { type VolumeSpec, Volumes } from "../api/volume.ts";
import { startArbiter } from "../cluster/arbiter/index.ts";
import { startGroupReverts } from "../cluster/group-revert/index.ts";
import { startServices } from "../cluster/services/index.ts";
import { createHost } from "../host/create-host.ts";
import type { Host } from "../host/host.ts";
import type { LeaseTimes } from "../leases/image-leases.ts";
import { type Agent, startAgent } from "../node/index.ts";
import type { AgentPool } from "../node/options.ts";
import { engineRegistry, until, volumeObject } from "./agent.ts";
import type { Faults } from "./faults.ts";
import { endServers, GIB, type Hooks, scratch, sparse } from "./scratch.ts";
import { undoAll } from "./undo.ts";

export interface ClusterPool {
  name: string;
  type: PoolType;
  node: string;
  /** One of several nodes of the pool; each has an entry. */
  shared?: boolean;
  /** Bytes; default 2 GiB. */
  size?: number;
  /** Of type `rbd`: the configuration file of the Ceph cluster, and what the pool is in it. */
  rbd?: { conf: string; spec: RbdSpec };
}

/** Long enough for an agent that was killed to be back before its devices are fenced, on any machine. */
export const CLUSTER_LEASES: LeaseTimes = { durationMs: 30_000, safetyMs: 5_000 };

/** Several nodes of one store on this machine, each with pools of its own; taken apart after the test. */
export class Cluster {
  readonly dir: string;
  readonly host: Host;
  readonly store: LocalStore;
  /** The store as the nodes and the coordinator see it. */
  readonly storeOfParts: ObjectStore;
  readonly #hostOfNodes: Host;
  readonly #pools: readonly ClusterPool[];
  readonly #agents = new Map<string, { agent: Agent; stop: AbortController }>();
  /** Taken back after the test, the last first: a failure of one does not keep the others. */
  readonly #undo: (() => unknown)[];
  #coordinator: { parts: { done: Promise<void> }[]; stop: AbortController } | undefined;

  private constructor(
    { dir, host, store }: Pick<Cluster, "dir" | "host" | "store">,
    pools: readonly ClusterPool[],
    undo: (() => unknown)[],
    faults: Faults | undefined,
  ) {
    this.dir = dir;
    this.host = host;
    this.store = store;
    this.storeOfParts = faults?.store(store) ?? store;
    this.#hostOfNodes = faults?.host(host) ?? host;
    this.#pools = pools;
    this.#undo = undo;
  }

  /** `faults`: what the nodes and the coordinator meet, and the test does not. */
  static async open(t: Hooks, pools: readonly ClusterPool[], faults?: Faults): Promise<Cluster> {
    const host = createHost();
    const undo: (() => unknown)[] = [];
    t.after(() => undoAll(undo));
    const dir = await scratch({ after: (work) => undo.push(work) }, host);
    const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
    const cluster = new Cluster({ dir, host, store }, pools, undo, faults);
    undo.push(async () => {
      for (const { node } of pools) await cluster.stopNode(node);
      await cluster.stopCoordinator();
      await store.close();
      for (const node of new Set(pools.map((pool) => pool.node))) await endServers(host, join(dir, node));
    });
    // Nothing that is due sleeps, whatever the test has done.
    undo.push(() => nothingSleeps({ idle: faults === undefined, store: cluster.storeOfParts }));
    await mkdir(join(dir, "mounts"));
    for (const name of new Set(pools.flatMap((pool) => (pool.shared === true ? [pool.name] : []))))
      await cluster.#makeShared(name);
    for (const node of new Set(pools.map((pool) => pool.node))) await cluster.startNode(node);
    await cluster.startCoordinator();
    return cluster;
  }

  /** Before the nodes stop. */
  after(work: () => unknown): void {
    this.#undo.push(work);
  }

  /** A disk that all nodes see. */
  async #makeShared(name: string): Promise<void> {
    const { host } = this;
    const folder = this.sharedFolder(name);
    const device = await host.loops.attach(await sparse(`${folder}.disk`, 2 * GIB));
    await host.exec.run("mkfs.xfs", ["-q", "-m", "reflink=1", device.path]);
    await mkdir(folder);
    await host.mounts.mount({ source: device.path, target: folder, fsType: "xfs" });
  }

  sharedFolder(pool: string): string {
    return join(this.dir, `shared-${pool}`);
  }

  /** The arbiter, the data services and the controller of group reverts. */
  async startCoordinator(): Promise<void> {
    const stop = new AbortController();
    setMaxListeners(0, stop.signal);
    const common = { store: this.storeOfParts, logger: silentLogger, signal: stop.signal };
    const parts: { done: Promise<void> }[] = [];
    this.#coordinator = { parts, stop };
    parts.push(await startArbiter(common));
    parts.push(await startServices(common));
    parts.push(startGroupReverts(common));
  }

  async stopCoordinator(): Promise<void> {
    const running = this.#coordinator;
    this.#coordinator = undefined;
    running?.stop.abort();
    await Promise.allSettled(running?.parts.map(({ done }) => done) ?? []);
  }

  async startNode(node: string): Promise<void> {
    const stop = new AbortController();
    const own = this.#pools.filter((pool) => pool.node === node);
    const agent = await startAgent({
      ...{ store: this.storeOfParts, host: this.#hostOfNodes, nodeID: node, stateDir: join(this.dir, node) },
      ...{ logger: silentLogger, signal: stop.signal },
      pools: own.map((pool) => this.#poolOf(pool)),
      ...(own.some(({ shared, rbd }) => shared ?? rbd) ? { leases: CLUSTER_LEASES } : {}),
    });
    this.#agents.set(node, { agent, stop });
  }

  #poolOf({ name, type, shared = false, size = 2 * GIB, rbd }: ClusterPool): AgentPool {
    if (rbd !== undefined) return { name, type, shared: true, path: rbd.conf, rbd: rbd.spec };
    return shared ? { name, type, shared, path: this.sharedFolder(name) } : { name, type, size };
  }

  async stopNode(node: string): Promise<void> {
    const running = this.#agents.get(node);
    this.#agents.delete(node);
    running?.stop.abort();
    await running?.agent.done;
  }

  nodeOf(pool: string): string {
    return this.#pools.find(({ name }) => name === pool)?.node ?? "";
  }

  async volume(name: string, pool: string, spec: Partial<VolumeSpec> = {}): Promise<void> {
    await this.store.create(Volumes, volumeObject(name, { pool, ...spec }));
    await until(this.store, Volumes, name, (volume) => volume.status?.state === "detached");
  }

  /** Where the image of a volume or snapshot is, in a pool of files. */
  image(id: string, pool: string): string {
    const { type = "xfs", node = "" } = this.#pools.find(({ name }) => name === pool) ?? {};
    const folder = join(this.dir, node, "pools", pool);
    return type === "directory" ? join(folder, "images", id) : join(folder, "mnt", "images", `${id}.img`);
  }
}
