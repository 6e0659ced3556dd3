import {
  type DeleteOptions,
  defined,
  delay,
  getIfAny,
  isConflict,
  isNotFound,
  type Lease,
  Leases,
  type Logger,
  type ObjectStore,
  within,
} from "@mooring/store";
import { LEASE_NAMESPACE, LEASE_NODE_LABEL } from "../api/names.ts";
import type { Volume } from "../api/volume.ts";
import type { Clock, LoopAttachment, LoopDevice } from "../host/host.ts";
import { clientsOf, withoutClients, writeClients } from "./clients.ts";
import { decideLease, endsByCluster, handedOver, type LeaseStep, SHUT_OUT, TAKEN_FROM } from "./decide.ts";
import type { DeviceGuard } from "./guard.ts";
import { freeLease, leaseFor } from "./lease-object.ts";
import { type LeaseWatch, leaseName } from "./lease-watch.ts";

/** The times of image leases, in milliseconds. */
export interface LeaseTimes {
  /** A lease that is not renewed for so long is lost; default 15,000. */
  durationMs: number;
  /** Others wait so much longer, and the holder stops so much earlier; default 4,000. */
  safetyMs: number;
}

/** A deadline that never comes: only another node's name in the record ends such a lease. */
const NEVER = Number.MAX_SAFE_INTEGER;

/** The defaults. */
export const LEASE_TIMES: LeaseTimes = { durationMs: 15_000, safetyMs: 4_000 };

interface ImageLeasesOptions {
  store: ObjectStore;
  nodeID: string;
  /** Unique among agents, also of the same name. */
  identity: string;
  times: LeaseTimes;
  watch: LeaseWatch;
  guard: DeviceGuard;
  clock: Clock;
  logger: Logger;
  /** A cluster can shut lost nodes out of the images of this pool: leases there do not end by time. */
  endsByCluster(pool: string): boolean;
  /** An image's device has been fenced: the lease could not be renewed, or another node has it. */
  onLost(image: string): void;
  /** What {@link ImageLeases} responds about this image may have changed, other than by time. */
  onChanged(image: string): void;
}

interface LeaseStanding {
  /** It names this agent, whether this process has taken it or an earlier one. */
  ours: boolean;
  /** No node has it, and it is not meant for another one. */
  free: boolean;
}

interface Held {
  lease: Lease;
  /** Milliseconds since boot; from then on others may count us out. {@link NEVER} where only a cluster does that. */
  deadline: number;
}

/** The leases that this agent holds: without one it opens no image of a shared pool. */
export class ImageLeases {
  readonly #options: ImageLeasesOptions;
  readonly #held = new Map<string, Held>();
  /** Devices that are being fenced: one under which the machine hangs keeps no renewal waiting. */
  readonly #fencing = new Set<Promise<void>>();

  constructor(options: ImageLeasesOptions) {
    this.#options = options;
  }

  /** The lease is ours, by our own clock. */
  holds(image: string): boolean {
    const held = this.#held.get(image);
    return held !== undefined && this.#options.clock.sinceBoot() < held.deadline;
  }

  /** Whom the image was taken from without being seen to close it; undefined when it may be used as it is. */
  takenFrom(image: string): string | undefined {
    return this.#held.get(image)?.lease.metadata.annotations?.[TAKEN_FROM];
  }

  /** Takes or renews the lease; undefined: it is ours now. Throws Conflict when another node was faster. */
  async acquire(
    volume: Volume,
    signal: AbortSignal,
  ): Promise<Extract<LeaseStep, { do: "wait" }> | undefined> {
    const image = volume.metadata.name;
    const { store, watch, clock, identity, nodeID, times } = this.#options;
    // Before the request: the lease's time begins when the server writes, which is later.
    const start = clock.sinceBoot();
    const lease = await this.#find(image, signal);
    const unchangedMs = lease === undefined ? 0 : watch.unchangedMs(lease);
    const now = `${clock.now().toISOString().slice(0, -1)}000Z`;
    const places = { wanted: volume.spec.nodeID ?? "", owner: volume.status?.ownerID ?? "" };
    const step = decideLease({ ...times, ...places, lease, identity, nodeID, unchangedMs, now });
    if (step.do === "wait") return step;
    const next = leaseFor(this.#holder(volume), volume, lease, step);
    const written =
      lease === undefined
        ? await store.create(Leases, next, { signal })
        : await store.update(Leases, next, { signal });
    this.#keep(image, written, start);
    this.#options.onChanged(image);
    return undefined;
  }

  /** The image has been replaced: from now on only its holder has the file. */
  async settle(image: string, signal: AbortSignal): Promise<void> {
    const held = this.#held.get(image);
    if (held === undefined) return;
    const { [TAKEN_FROM]: _from, ...annotations } = withoutClients(held.lease.metadata);
    const metadata = { ...held.lease.metadata, annotations };
    held.lease = await this.#options.store.update(Leases, { ...held.lease, metadata }, { signal });
    this.#options.onChanged(image);
  }

  /** By which addresses the last holder had the image open, who was not seen to close it. */
  clientsBefore(image: string): string[] {
    return clientsOf(this.#held.get(image)?.lease);
  }

  /**
   * By which addresses this node has the image open: whoever takes it from here has the cluster refuse them, also when it has
   * forgotten them. False: the lease is not ours any more, and nothing was recorded.
   */
  async recordClients(image: string, clients: readonly string[], signal: AbortSignal): Promise<boolean> {
    const { store, identity } = this.#options;
    const lease = await writeClients(store, { image, identity, clients }, signal);
    const held = this.#held.get(image);
    if (lease === undefined || held === undefined) return false;
    held.lease = lease;
    return true;
  }

  /** The image's device works for as long as the lease does. Resolves when that is sure. */
  async protect(image: string, device: LoopAttachment): Promise<void> {
    const held = this.#held.get(image);
    if (held === undefined) return;
    await this.#options.guard.protect(image, device, held.deadline);
    this.#options.onChanged(image);
  }

  /** Without the lease there is nothing to protect it for. */
  async protects(image: string, device: LoopAttachment): Promise<boolean> {
    const held = this.#held.get(image);
    return held === undefined || (await this.#options.guard.protects(image, device, held.deadline));
  }

  /** Nothing gets through this device any more. It is not, or not any more, the one of the image. */
  async fence(image: string, device: LoopAttachment): Promise<void> {
    await this.#options.guard.protect(image, device, 0);
    await this.#options.guard.fence(image);
    this.#options.onChanged(image);
  }

  leftImages(): string[] {
    return this.#options.guard.leftImages();
  }

  /** Devices of the image that earlier agents of this node have left, fenced, whatever their paths say. */
  left(image: string): Promise<LoopDevice[]> {
    return this.#options.guard.left(image);
  }

  /**
   * Takes the lease from a node that was found to be lost, for no node yet: the next holder shuts that node out first.
   * Throws Conflict when the node has renewed it since it was read, and so is not lost.
   */
  takeAway(volume: Volume, lease: Lease | undefined, nodeID: string, signal: AbortSignal): Promise<Lease> {
    const { store, clock } = this.#options;
    const now = `${clock.now().toISOString().slice(0, -1)}000Z`;
    const before = lease?.spec?.holderIdentity || lease?.metadata.annotations?.[TAKEN_FROM] || nodeID;
    const spec = { ...lease?.spec, holderIdentity: "", renewTime: now };
    const next = leaseFor(this.#holder(volume), volume, lease, { do: "write", spec, takenFrom: before });
    const labels = { ...next.metadata.labels, [LEASE_NODE_LABEL]: nodeID };
    const taken = { ...next, metadata: { ...next.metadata, labels } };
    return lease === undefined
      ? store.create(Leases, taken, { signal })
      : store.update(Leases, taken, { signal });
  }

  /**
   * What {@link takeAway} has resolved to: the cluster refuses what the node writes. Throws Conflict when another node has
   * it by now.
   */
  async markShutOut(lease: Lease, nodeID: string, signal: AbortSignal): Promise<void> {
    const annotations = { ...lease.metadata.annotations, [SHUT_OUT]: nodeID };
    const marked = { ...lease, metadata: { ...lease.metadata, annotations } };
    await this.#options.store.update(Leases, marked, { signal });
  }

  /** Gives the lease back. Only when the image is closed here. */
  async release(image: string, signal?: AbortSignal): Promise<void> {
    const held = this.#held.get(image);
    if (held === undefined) return;
    await this.#forget(image);
    await this.#orKeep(image, held, async () => {
      if (await this.#free(held.lease, signal)) return;
      // A renewal of ours was under way; else it belongs to another node already.
      const present = await this.#find(image, signal);
      if (present?.spec?.holderIdentity === this.#options.identity) await this.#free(present, signal);
    });
  }

  /** While its record names us the lease is ours, so that the next round gives it back: no time ends one of a cluster. */
  async #orKeep(image: string, held: Held, work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (!this.#held.has(image)) this.#held.set(image, held);
      throw error;
    }
  }

  /** False when it is not as it was read any more. */
  async #free(lease: Lease, signal: AbortSignal | undefined): Promise<boolean> {
    const free = freeLease(lease);
    try {
      await this.#options.store.update(Leases, free, defined({ signal }));
      return true;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      return false;
    }
  }

  /** Whose the lease is by its record, which may be newer than what this process has. */
  async standing(image: string, signal: AbortSignal): Promise<LeaseStanding> {
    const { identity, nodeID } = this.#options;
    const lease = await this.#find(image, signal);
    const { holderIdentity = "" } = lease?.spec ?? {};
    const meant = handedOver(lease) ?? nodeID;
    return { ours: holderIdentity === identity, free: holderIdentity === "" && meant === nodeID };
  }

  /**
   * Gives the lease to the agent of that node, and to no other as long as the volume belongs there. Only when the
   * image is closed here. What is not ours any more stays as it is. Throws Conflict when a renewal came in between.
   */
  async handOver(image: string, to: string, signal: AbortSignal): Promise<void> {
    const { store, identity } = this.#options;
    await this.#forget(image);
    const lease = await this.#find(image, signal);
    if (lease?.spec?.holderIdentity !== identity) return;
    await store.update(Leases, freeLease(lease, to), { signal });
  }

  /** Removes the lease of an image that is gone for good, so that nothing of it is left. */
  async drop(image: string, signal: AbortSignal): Promise<void> {
    const held = this.#held.get(image);
    if (held === undefined) return;
    await this.#forget(image);
    // By its uid: a renewal may be under way.
    const { uid = "" } = held.lease.metadata;
    await this.#orKeep(image, held, () => this.#remove(image, { uid }, signal));
  }

  /** Removes the lease of an image without a record, unless another agent has it, or takes it now. */
  async sweep(image: string, { metadata, spec }: Lease, signal: AbortSignal): Promise<void> {
    const { holderIdentity = "" } = spec ?? {};
    if (holderIdentity !== "" && holderIdentity !== this.#options.identity) return;
    const { resourceVersion = "" } = metadata;
    await this.#remove(image, { resourceVersion }, signal);
  }

  async #forget(image: string): Promise<void> {
    this.#held.delete(image);
    this.#options.onChanged(image);
    await this.#options.guard.forget(image);
  }

  images(): string[] {
    return [...this.#held.keys()];
  }

  /** Renews until the signal aborts; what cannot be renewed in time is fenced. */
  async run(signal: AbortSignal): Promise<void> {
    const { durationMs } = this.#options.times;
    const tick = Math.max(100, durationMs / 10);
    let renewAt = 0;
    while (!signal.aborted) {
      await delay(tick, signal).catch(() => {});
      if (signal.aborted) break;
      const now = this.#options.clock.sinceBoot();
      if (now >= renewAt) {
        renewAt = now + durationMs / 4;
        await this.#renewAll(signal);
      }
      this.#fenceExpired();
    }
    await Promise.all(this.#fencing);
  }

  async #renewAll(signal: AbortSignal): Promise<void> {
    const { times } = this.#options;
    const patience = times.durationMs / 4;
    const renewals = [...this.#held].map(([image, held]) =>
      within(patience, signal, (limited) => this.#renew(image, held, limited)).catch((error: unknown) => {
        this.#options.logger.warn({ err: error, image }, "cannot renew the lease of an image");
      }),
    );
    await Promise.all(renewals);
  }

  async #renew(image: string, held: Held, signal: AbortSignal): Promise<void> {
    const { store, clock, identity, guard, onChanged } = this.#options;
    const start = clock.sinceBoot();
    const renewTime = `${clock.now().toISOString().slice(0, -1)}000Z`;
    const renewed = { ...held.lease, spec: { ...held.lease.spec, renewTime } };
    try {
      const written = await store.update(Leases, renewed, { signal });
      if (this.#held.get(image) !== held) return;
      const late = clock.sinceBoot() >= held.deadline;
      const deadline = this.#keep(image, written, start);
      // Not after the renewals of all: until then the device seems to have no guard.
      await guard.extend(image, deadline);
      // The guard may have fenced the device just before.
      if (late) onChanged(image);
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      // Given back or removed meanwhile: it must not come again.
      if (this.#held.get(image) !== held) return;
      const present = (await this.#find(image, signal)) ?? (await this.#makeAgain(held, signal));
      if (this.#held.get(image) !== held) return;
      if (present.spec?.holderIdentity === identity) held.lease = present;
      else held.deadline = 0;
      onChanged(image);
    }
  }

  async #remove(
    image: string,
    preconditions: NonNullable<DeleteOptions["preconditions"]>,
    signal: AbortSignal,
  ): Promise<void> {
    const key = { namespace: LEASE_NAMESPACE, name: leaseName(image) };
    await this.#options.store.delete(Leases, key, { preconditions, signal }).catch((error: unknown) => {
      if (!isConflict(error) && !isNotFound(error)) throw error;
    });
  }

  /** An operator has removed a lease that is held: no other node may take it meanwhile. */
  #makeAgain({ lease }: Held, signal: AbortSignal): Promise<Lease> {
    const { resourceVersion: _version, uid: _uid, ...metadata } = lease.metadata;
    return this.#options.store.create(Leases, { ...lease, metadata }, { signal });
  }

  #fenceExpired(): void {
    const { clock, logger } = this.#options;
    for (const [image, { deadline }] of this.#held) {
      if (clock.sinceBoot() < deadline) continue;
      this.#held.delete(image);
      logger.error({ image }, "the lease of an image is lost: its device is fenced");
      const fencing = this.#fenceLost(image).finally(() => this.#fencing.delete(fencing));
      this.#fencing.add(fencing);
    }
  }

  /** Never rejects. */
  async #fenceLost(image: string): Promise<void> {
    const { guard, logger, onLost } = this.#options;
    await guard.fence(image).catch((error: unknown) => {
      logger.error({ err: error, image }, "cannot fence a device; the guard goes on trying");
    });
    onLost(image);
  }

  /** Returns the deadline. */
  #keep(image: string, lease: Lease, start: number): number {
    const { durationMs, safetyMs } = this.#options.times;
    const deadline = endsByCluster(lease) ? NEVER : start + durationMs - safetyMs;
    this.#held.set(image, { lease, deadline });
    return deadline;
  }

  async #find(image: string, signal: AbortSignal | undefined): Promise<Lease | undefined> {
    const key = { namespace: LEASE_NAMESPACE, name: leaseName(image) };
    return getIfAny(this.#options.store, Leases, key, signal);
  }

  #holder({ spec }: Volume): { nodeID: string; byCluster: boolean } {
    const { nodeID, endsByCluster: byCluster } = this.#options;
    return { nodeID, byCluster: byCluster(spec.pool) };
  }
}
