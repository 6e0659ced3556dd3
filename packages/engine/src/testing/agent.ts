import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  defined,
  Events,
  isNotFound,
  type KubeObject,
  Leases,
  LocalStore,
  mutate,
  type ObjectStore,
  PersistentVolumes,
  Pods,
  type Resource,
  ResourceRegistry,
  silentLogger,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  waitFor,
} from "@mooring/store";
import { eventuallyObject, nothingSleeps } from "@mooring/store/testing";
import { type AttachmentTicket, type VolumeAttachment, VolumeAttachments } from "../api/attachment.ts";
import { VolumeGroupReverts } from "../api/group-revert.ts";
import { ENGINE_KINDS } from "../api/kinds.ts";
import { MOORING_API_VERSION } from "../api/names.ts";
import type { PoolType, RbdSpec } from "../api/pool.ts";
import { type Snapshot, Snapshots } from "../api/snapshot.ts";
import { type Volume, type VolumeSpec, type VolumeStatus, Volumes } from "../api/volume.ts";
import { startArbiter } from "../cluster/arbiter/index.ts";
import { startGroupReverts } from "../cluster/group-revert/index.ts";
import { startServices } from "../cluster/services/index.ts";
import { createHost } from "../host/create-host.ts";
import type { Host } from "../host/host.ts";
import { startAgent } from "../node/index.ts";
import { addTicket, removeTickets } from "../tickets/tickets.ts";
import { GIB, MIB, scratch } from "./scratch.ts";
import { undoAll } from "./undo.ts";

/** The kinds that the engine needs, without schemas. */
export function engineRegistry(): ResourceRegistry {
  return new ResourceRegistry([
    ...ENGINE_KINDS.map((resource) => ({ resource, hasStatus: true })),
    // What a group revert reads.
    ...[VolumeGroupReverts, VolumeGroupSnapshots, VolumeGroupSnapshotContents, PersistentVolumes, Pods].map(
      (resource) => ({ resource, hasStatus: true }),
    ),
    { resource: Events, hasStatus: false },
    { resource: Leases, hasStatus: false },
  ]);
}

export const NODE = "node-1";
export const POOL = "p";

export interface BenchOptions {
  /** With the arbiter and the data services; volumes are then moved by tickets alone. */
  tickets?: boolean;
  /** With the controller of group reverts, too. */
  reverts?: boolean;
  host?: Host;
  /** The clock of the data services. */
  now?: () => Date;
  poolSize?: number;
  /** Of type `rbd`: the configuration file of the Ceph cluster, and what the pool is in it. */
  rbd?: { conf: string; spec: RbdSpec };
  overcommit?: number;
  /** Writers are frozen before the pool is full. */
  holdWriters?: boolean;
  /** Networks over which the agent may share volumes. */
  trustedNetworks?: readonly string[];
  /** The test takes files away behind the agent's back: no event reports what is due then. */
  behindItsBack?: boolean;
  /** The state folder's name below that of the test; default `state`. */
  stateFolder?: string;
  /** Done before anything starts; what it mounts below the folder is unmounted in the end. */
  prepare?: (bench: Bench) => Promise<void>;
}

/** One node with a store and a pool named `p`, taken apart after the test. */
export class Bench {
  readonly dir: string;
  readonly host: Host;
  readonly store: LocalStore;
  readonly type: PoolType;
  /** As of the next start. */
  trustedNetworks: readonly string[];
  readonly #options: BenchOptions;
  #running: { done: Promise<void> }[] = [];
  #abort = new AbortController();

  private constructor(
    { dir, host, store, type }: Pick<Bench, "dir" | "host" | "store" | "type">,
    options: BenchOptions,
  ) {
    this.dir = dir;
    this.host = host;
    this.store = store;
    this.type = type;
    this.trustedNetworks = options.trustedNetworks ?? [];
    this.#options = options;
  }

  static async open(t: TestContext, type: PoolType = "xfs", options: BenchOptions = {}): Promise<Bench> {
    const host = options.host ?? createHost();
    const undo: (() => unknown)[] = [];
    // Hooks run in the order in which they were made: one of our own, to stop what runs before the folder goes.
    t.after(() => undoAll(undo));
    const dir = await scratch({ after: (work) => undo.push(work) }, host);
    const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
    const bench = new Bench({ dir, host, store, type }, options);
    undo.push(async () => {
      await bench.stop();
      await store.close();
    });
    // Nothing that is due sleeps, whatever the test has done.
    if (options.behindItsBack !== true) undo.push(() => nothingSleeps({ idle: true, store }));
    await options.prepare?.(bench);
    await bench.start();
    return bench;
  }

  get stateDir(): string {
    return join(this.dir, this.#options.stateFolder ?? "state");
  }

  async start(): Promise<void> {
    this.#abort = new AbortController();
    const { store, host, stateDir } = this;
    const common = { store, logger: silentLogger, signal: this.#abort.signal };
    const { poolSize = 2 * GIB, holdWriters = false, overcommit, rbd } = this.#options;
    const own = { name: POOL, type: this.type, size: poolSize, holdWriters, ...defined({ overcommit }) };
    const pools = [
      rbd === undefined ? own : { name: POOL, type: this.type, shared: true, path: rbd.conf, rbd: rbd.spec },
    ];
    const agent = startAgent({
      ...common,
      host,
      nodeID: NODE,
      stateDir,
      pools,
      trustedNetworks: this.trustedNetworks,
      healthMs: 200,
      ...(rbd === undefined ? {} : { leases: {} }),
    });
    this.#running.push({ done: agent.then(({ done }) => done) });
    await agent;
    if (this.#options.reverts === true) this.#running.push(startGroupReverts(common));
    if (this.#options.tickets !== true) return;
    this.#running.push(await startArbiter(common));
    this.#running.push(
      await startServices({
        ...common,
        ...defined({ now: this.#options.now }),
      }),
    );
  }

  async stop(): Promise<void> {
    this.#abort.abort();
    await Promise.all(this.#running.splice(0).map(({ done }) => done.catch(() => {})));
  }

  createVolume(name: string, spec: Partial<VolumeSpec> = {}): Promise<Volume> {
    return this.store.create(Volumes, volumeObject(name, spec));
  }

  createSnapshot(name: string, volume: string): Promise<Snapshot> {
    return this.store.create(Snapshots, snapshotObject(name, volume));
  }

  /** What the arbiter does. */
  place(name: string, nodeID: string): Promise<Volume> {
    return mutate(this.store, Volumes, { name }, (volume) => {
      volume.spec.nodeID = nodeID;
    });
  }

  resize(name: string, size: number): Promise<Volume> {
    return mutate(this.store, Volumes, { name }, (volume) => {
      volume.spec.size = size;
    });
  }

  volume(name: string, state: string, more: (volume: Volume) => boolean = () => true): Promise<Volume> {
    return until(this.store, Volumes, name, (v) => v.status?.state === state && more(v));
  }

  volumeWhere(name: string, test: (volume: Volume) => boolean): Promise<Volume> {
    return until(this.store, Volumes, name, test);
  }

  patchStatus(name: string, change: Partial<VolumeStatus>): Promise<Volume> {
    const put = (volume: Volume): void => {
      volume.status = { ...(volume.status ?? { state: "detached" }), ...change };
    };
    return mutate(this.store, Volumes, { name }, { change: put, subresource: "status" });
  }

  snapshot(
    name: string,
    test: (snapshot: Snapshot) => boolean = (s) => s.status?.readyToUse === true,
  ): Promise<Snapshot> {
    return until(this.store, Snapshots, name, test);
  }

  async gone(resource: Resource, name: string): Promise<void> {
    const signal = AbortSignal.timeout(60_000);
    await waitFor(this.store, { resource, key: { name } }, (object) => object === undefined, signal);
  }

  async deleted(resource: Resource, name: string): Promise<void> {
    await this.store.delete(resource, { name }).catch((error: unknown) => {
      if (!isNotFound(error)) throw error;
    });
    await this.gone(resource, name);
  }

  /** A workload's ticket for this node, or for another. */
  ask(name: string, id = "csi-w", nodeID: string = NODE): Promise<AttachmentTicket> {
    return addTicket(this.store, name, { id, type: "csi-attacher", nodeID }, { now: new Date() });
  }

  drop(name: string, id = "csi-w"): Promise<string[]> {
    return removeTickets(this.store, name, (ticket) => ticket.id === id);
  }

  /** Every ticket that the volume had, in the order in which they came, once `stop` is true; `id type node`. */
  async ticketsUntil(name: string, stop: (attachment: VolumeAttachment) => boolean): Promise<string[]> {
    const seen: string[] = [];
    await until(this.store, VolumeAttachments, name, (attachment) => {
      for (const { id, type, nodeID } of Object.values(attachment.spec.attachmentTickets ?? {})) {
        const line = `${id} ${type} ${nodeID}`;
        if (!seen.includes(line)) seen.push(line);
      }
      return stop(attachment);
    });
    return seen;
  }

  async attached(name: string): Promise<string> {
    await this.place(name, NODE);
    const volume = await this.volume(name, "attached");
    return volume.status?.device ?? "";
  }

  async detached(name: string): Promise<void> {
    await this.place(name, "");
    await this.volume(name, "detached");
  }

  imagePath(id: string): string {
    const folder = join(this.stateDir, "pools", POOL);
    return this.type === "directory"
      ? join(folder, "images", id)
      : join(folder, "mnt", "images", `${id}.img`);
  }
}

/** Resolves with the object once the test is true of it; fails after a minute with what it was last. */
export async function until<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  name: string,
  test: (object: T) => boolean,
): Promise<T> {
  const isThereAs = (object: T | undefined): boolean => object !== undefined && test(object);
  // Sound: nothing else is waited for.
  return (await eventuallyObject(store, { resource, key: { name } }, isThereAs)) as T;
}

export function volumeObject(name: string, spec: Partial<VolumeSpec> = {}): Volume {
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Volume",
    metadata: { name },
    spec: {
      size: 64 * MIB,
      pool: POOL,
      volumeMode: "Filesystem",
      fsType: "ext4",
      accessMode: "rwo",
      ...spec,
    },
  };
}

export function snapshotObject(name: string, volume: string): Snapshot {
  return {
    apiVersion: MOORING_API_VERSION,
    kind: "Snapshot",
    metadata: { name },
    spec: { volume, pool: POOL },
  };
}
