import { defined, getIfAny } from "@mooring/store";
import type { AttacherType } from "../../api/attachment.ts";
import { isShared, type Pool, poolNodes } from "../../api/pool.ts";
import { isFaulted } from "../../api/salvage.ts";
import { type Snapshot, Snapshots } from "../../api/snapshot.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { LoopDevice } from "../../host/host.ts";
import { folderUsers } from "../../pools/folder-users.ts";
import type { Image } from "../../pools/image.ts";
import { isImageId } from "../../pools/image-id.ts";
import { getAttachment } from "../../tickets/attachment-object.ts";
import { isAttachedTo } from "../../tickets/exposure.ts";
import { isMoving } from "../../tickets/migration-phase.ts";
import type { OpenPool } from "../open-pools.ts";
import type { ReadContext } from "../read-context.ts";
import { deviceUsers } from "./device-users.ts";
import { isResponsible, type ResponsibilityView } from "./responsible-node.ts";
import type { LeaseState, SourceView, VolumeView } from "./view.ts";

/** A view and the things it was made from. */
export interface VolumeReading extends VolumeView {
  open: OpenPool | undefined;
  file: Image | undefined;
  /** The device, where the pool has any. */
  loop: LoopDevice | undefined;
}

/** Undefined: the volume is gone, or another node's to deal with. */
export async function readVolume(context: ReadContext, name: string): Promise<VolumeReading | undefined> {
  const { store, nodeID, host, signal } = context;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  if (volume === undefined) return undefined;
  if (!isOurs(context, await whereItIsMade(context, volume)) && !(await hasItOpen(context, volume))) {
    return undefined;
  }
  const open = context.pools.get(volume.spec.pool);
  const file = isImageId(name) ? await open?.backend.find(name) : undefined;
  const loop = await loopOf(context, { open, volume, file });
  const device = open?.backend.block === false ? await folderOf(context, volume, file) : loop;
  const shared = isShared(context.poolObjects.get(volume.spec.pool));
  const lease = shared ? await leaseOf(context, name, loop) : undefined;
  const source = await sourceOf(context, volume);
  const pool = open === undefined ? undefined : { block: open.backend.block };
  const jobs = await jobsOf(context, volume);
  const fault = context.faults.get(name);
  const now = host.clock.now();
  const doubtful = isDoubtful(volume, nodeID);
  const isLeaving = loop?.fenced === true && loop.autoclear === true;
  const asked = device !== undefined && open !== undefined && (isLeaving || doubtful);
  const users = asked ? await deviceUsers(context, open, device.path) : undefined;
  const inUse = doubtful && users !== undefined ? users.length > 0 : undefined;
  return {
    ...{ volume, nodeID, pool, image: file, device, source, fault, jobs, now, open, file, loop },
    ...defined({ lease, inUse, users }),
  };
}

/** By the record an open device is closed, or it has nothing of it: an operator may have written that by hand. */
function isDoubtful({ spec, status }: Volume, nodeID: string): boolean {
  if (spec.nodeID !== nodeID) return false;
  return status?.state === "detaching" || (status?.state === "attached" && status.device === undefined);
}

/** Of a shared pool: this node has the lease and the device, whatever owner is recorded. */
async function hasItOpen({ host, pools, sharing }: ReadContext, volume: Volume): Promise<boolean> {
  // Confirmed since the migration's own steps were last taken: they come again, and give it away in their order.
  if (isMoving(volume)) return false;
  const { metadata, spec } = volume;
  const layout = pools.get(spec.pool)?.layout;
  if (sharing?.leases.holds(metadata.name) !== true || layout?.several !== true) return false;
  const device = await host.loops.find(`${layout.images}/${metadata.name}.img`, { recent: true });
  return device !== undefined && device.fenced !== true;
}

/** Tickets matter to an agent only where they keep the volume out of reach of workloads. */
async function jobsOf({ store, nodeID, signal }: ReadContext, volume: Volume): Promise<AttacherType[]> {
  const { disableFrontend = false, nodeID: wanted } = volume.spec;
  if (!disableFrontend || wanted !== nodeID) return [];
  const attachment = await getAttachment(store, volume.metadata.name, signal);
  const tickets = Object.values(attachment?.spec.attachmentTickets ?? {});
  return tickets.filter((ticket) => ticket.nodeID === nodeID).map(({ type }) => type);
}

async function leaseOf(
  { sharing }: ReadContext,
  name: string,
  device: LoopDevice | undefined,
): Promise<LeaseState> {
  const held = sharing?.leases.holds(name) === true;
  const lease = { held, takenFrom: sharing?.leases.takenFrom(name) };
  const works = held && device !== undefined && device.fenced !== true && device.deleted !== true;
  // One that an earlier process of this node has opened.
  const unguarded = works && !(await sharing?.leases.protects(name, device));
  return unguarded ? { ...lease, unguarded } : lease;
}

/** In a shared pool a copy is made where its source is attached, because a file system in use is frozen for it. */
async function whereItIsMade({ store, poolObjects, signal }: ReadContext, volume: Volume): Promise<Volume> {
  const { source, pool } = volume.spec;
  const made = volume.status?.size !== undefined || volume.metadata.deletionTimestamp !== undefined;
  if (made || source?.kind !== "Volume" || !isShared(poolObjects.get(pool))) return volume;
  const origin = await getIfAny(store, Volumes, { name: source.name }, signal);
  return origin?.spec.pool === pool ? origin : volume;
}

/** The pool's node has the data; the owner counts when the Pool object is gone. */
function isOurs(context: ReadContext, volume: Volume): boolean {
  const { poolObjects, nodeID } = context;
  const pool = poolObjects.get(volume.spec.pool);
  if (pool !== undefined && isShared(pool)) {
    const responsible = isResponsible(responsibilityIn(context, pool, volume));
    if (!isMoving(volume)) return responsible;
    // The migration's own steps do what can be done; what is left is to recover from a loss, on the target.
    const held = context.sharing?.leases.holds(volume.metadata.name) === true;
    return volume.spec.nodeID === nodeID && (responsible || held);
  }
  return (pool?.spec.nodeID ?? volume.status?.ownerID) === nodeID;
}

/** What this node has read about who is to deal with a shared pool's volume. */
export function responsibilityIn(
  { nodeID, sharing }: ReadContext,
  pool: Pool,
  volume: ResponsibilityView["volume"],
): ResponsibilityView {
  const agents = new Map(sharing?.agents.list().map((agent) => [agent.metadata.name, agent]));
  return { volume, nodeID, poolNodes: poolNodes(pool), agents };
}

async function loopOf(
  { host }: ReadContext,
  { open, volume, file }: Pick<VolumeReading, "open" | "volume" | "file">,
): Promise<LoopDevice | undefined> {
  if (open?.backend.block !== true || !mayBeOpen(volume)) return undefined;
  // Also without an image: an unlinked one lives on in its device.
  const path = file?.path ?? `${open.layout.images}/${volume.metadata.name}.img`;
  return host.loops.find(path, { recent: true });
}

/** The folder of a `directory` volume that is in use. */
async function folderOf(
  { host }: ReadContext,
  volume: Volume,
  image: Image | undefined,
): Promise<VolumeView["device"]> {
  if (image === undefined || !mayBeOpen(volume)) return undefined;
  const state = volume.status?.state;
  const device = { path: image.path, sizeBytes: image.size };
  if (state === "attaching" || state === "attached") return device;
  return folderUsers(await host.mounts.list(), image.path).length > 0 ? device : undefined;
}

async function sourceOf(context: ReadContext, volume: Volume): Promise<SourceView> {
  const { source, pool } = volume.spec;
  if (!isImageId(volume.metadata.name)) return { state: "unfit", message: "the name is not a volume id" };
  if (source === undefined || volume.status?.size !== undefined) return { state: "none" };
  const { kind, name } = source;
  const { store, signal } = context;
  const object: Volume | Snapshot | undefined =
    kind === "Volume"
      ? await getIfAny(store, Volumes, { name }, signal)
      : await getIfAny(store, Snapshots, { name }, signal);
  if (object === undefined)
    return { state: "missing", message: `the source, ${kind} ${name}, does not exist` };
  if (object.spec.pool !== pool) {
    const message = `the source, ${kind} ${name}, is in pool ${object.spec.pool}; copies stay in their pool (${pool})`;
    return { state: "unfit", message };
  }
  if (isLost(object)) return { state: "lost", message: `the data of the source, ${kind} ${name}, are lost` };
  if (!isWhole(object)) return { state: "waiting", message: `the source, ${kind} ${name}, is not ready yet` };
  const formatted = object.status?.formatted;
  const here = kind === "Snapshot" || isAttachedTo(object as Volume, context.nodeID);
  return { state: "ready", here, ...defined({ formatted }) };
}

/** Nothing that waits for such a source would ever get it. */
function isLost(object: Volume | Snapshot): boolean {
  if (object.kind === "Snapshot") return object.status?.error?.code === "DATA_LOSS";
  const volume = object as Volume;
  return isFaulted(volume) && volume.status?.salvage?.cause === "image-lost";
}

function isWhole({ status }: Volume | Snapshot): boolean {
  if (status === undefined) return false;
  return "readyToUse" in status ? status.readyToUse : status.size !== undefined;
}

function mayBeOpen({ status }: Volume): boolean {
  return status?.state !== undefined && status.state !== "creating";
}
