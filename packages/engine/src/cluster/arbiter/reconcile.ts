import {
  type EventRecorder,
  getIfAny,
  hasFinalizer,
  isConflict,
  isDeleting,
  isNotFound,
  type ObjectStore,
} from "@mooring/store";
import type { VolumeAttachment } from "../../api/attachment.ts";
import { ARBITER_FINALIZER } from "../../api/names.ts";
import type { NodeAgent } from "../../api/node-agent.ts";
import { isShared, type Pool, poolNodes } from "../../api/pool.ts";
import type { ShareManager } from "../../api/share-manager.ts";
import { isServed, type Volume, Volumes } from "../../api/volume.ts";
import {
  belongsTo,
  ensureAttachment,
  getAttachment,
  releaseAttachment,
  retryPause,
} from "../../tickets/attachment-object.ts";
import { findOwnersGone, ownerKinds } from "../../tickets/owners.ts";
import { ticketsOf } from "../../tickets/tickets-of.ts";
import { applyStep } from "./apply.ts";
import { decide } from "./decide.ts";
import { emitEvents, reportLost } from "./events.ts";
import type { KubernetesWatch } from "./kubernetes/watch.ts";
import type { ArbiterView } from "./view.ts";

export interface ReconcileInput {
  store: ObjectStore;
  /** Name of the Volume and of its VolumeAttachment. */
  name: string;
  nodes: () => ReadonlyMap<string, NodeAgent>;
  /** Absent where there is no Kubernetes. */
  kubernetes?: KubernetesWatch | undefined;
  events: EventRecorder;
  /** Absent: there is none of that name. */
  pool?: (name: string) => Pool | undefined;
  /** The share manager of that name; absent: there is none. */
  share?: (name: string) => ShareManager | undefined;
  now: () => Date;
  signal: AbortSignal;
}

/**
 * Takes steps for one volume until a decision asks for nothing more. Every step is one write; after each, everything
 * is read again. A conflict means that somebody else wrote: read again as well.
 */
export async function reconcileVolume(input: ReconcileInput): Promise<{ requeueAfterMs?: number }> {
  for (;;) {
    input.signal.throwIfAborted();
    try {
      const next = await step(input);
      if (next !== "again") return next;
    } catch (error) {
      if (!isConflict(error) && !isNotFound(error)) throw error;
      await retryPause(input.signal);
    }
  }
}

async function step(input: ReconcileInput): Promise<"again" | { requeueAfterMs?: number }> {
  const { store, name, signal } = input;
  const volume = await getIfAny(store, Volumes, { name }, signal);
  const present = await getAttachment(store, name, signal);
  if (volume === undefined || (present !== undefined && !belongsTo(present, volume))) {
    if (present === undefined) return {};
    if (volume === undefined) reportLost(input.events, present);
    return release(store, present, signal);
  }
  const attachment = present ?? (await ensureAttachment(store, name, signal));
  const tickets = ticketsOf(attachment);
  // A volume that is still on a node would look as if its holder had been lost with the object.
  const idle = tickets.length === 0 && (volume.spec.nodeID ?? "") === "";
  if (attachment.metadata.deletionTimestamp !== undefined && idle) {
    return release(store, attachment, signal);
  }
  const view = await look(input, volume, attachment);
  const decision = decide(view);
  const written = await applyStep(store, view, decision, signal);
  if (written === undefined) return untilNext(tickets, decision.flaps.lookAgainAt, view.now);
  emitEvents(input.events, view, written);
  return "again";
}

/** Everything besides volume and tickets that a decision depends on. */
async function look(
  { store, name, nodes, pool, share, kubernetes, now, signal }: ReconcileInput,
  volume: Volume,
  attachment: VolumeAttachment,
): Promise<ArbiterView> {
  const tickets = ticketsOf(attachment);
  const { nodeID = "", migrationNodeID = "" } = volume.spec;
  const { currentNodeID = "", currentMigrationNodeID = "" } = volume.status ?? {};
  const nodeIDs = [nodeID, migrationNodeID, currentNodeID, currentMigrationNodeID];
  const claims = await kubernetes?.claimsOf({ volume: name, tickets, nodeIDs }, signal);
  const kinds = ownerKinds(kubernetes !== undefined);
  const ownersGone = await findOwnersGone(store, tickets, kinds, signal);
  const home = pool?.(volume.spec.pool);
  const sharedBy = home !== undefined && isShared(home) ? { sharedBy: poolNodes(home) } : {};
  const serving = isServed(volume) ? share?.(name) : undefined;
  const served = serving === undefined ? {} : { share: serving };
  const view = { volume, attachment, nodes: nodes(), ...sharedBy, ...served, ownersGone, now: now() };
  return claims === undefined ? view : { ...view, claims };
}

/** Somebody else's finalizer may keep the object; its removal is a change that brings us back here. */
async function release(
  store: ObjectStore,
  attachment: VolumeAttachment,
  signal: AbortSignal,
): Promise<"again" | { requeueAfterMs?: number }> {
  if (isDeleting(attachment) && !hasFinalizer(attachment, ARBITER_FINALIZER)) return {};
  await releaseAttachment(store, attachment, signal);
  await retryPause(signal);
  return "again";
}

/** Until the next thing that no event tells: the end of a ticket's time, or of a pause. */
function untilNext(
  tickets: readonly { expiresAt?: string }[],
  lookAgainAt: Date | undefined,
  now: Date,
): { requeueAfterMs?: number } {
  const times = [...tickets.map((t) => Date.parse(t.expiresAt ?? "")), lookAgainAt?.getTime() ?? Number.NaN];
  const ends = times.filter((end) => !Number.isNaN(end));
  return ends.length === 0 ? {} : { requeueAfterMs: Math.max(1, Math.min(...ends) - now.getTime()) };
}
