import { hasFinalizer, isConflict, isDeleting, isNotFound, type ObjectStore } from "@mooring/store";
import type { VolumeAttachment } from "../api/attachment.ts";
import { ARBITER_FINALIZER } from "../api/names.ts";
import type { NodeAgent } from "../api/node-agent.ts";
import { type Volume, Volumes } from "../api/volume.ts";
import { applyStep } from "./apply.ts";
import {
  belongsTo,
  ensureAttachment,
  getAttachment,
  releaseAttachment,
  retryPause,
} from "./attachment-object.ts";
import { decide } from "./decide.ts";
import { findOwnersGone } from "./owners.ts";
import { ticketsOf } from "./view.ts";

export interface ReconcileInput {
  store: ObjectStore;
  /** Name of the Volume and of its VolumeAttachment. */
  name: string;
  nodes: () => ReadonlyMap<string, NodeAgent>;
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

async function step({
  store,
  name,
  nodes,
  now: clock,
  signal,
}: ReconcileInput): Promise<"again" | { requeueAfterMs?: number }> {
  const volume = await findVolume(store, name, signal);
  const present = await getAttachment(store, name, signal);
  if (volume === undefined || (present !== undefined && !belongsTo(present, volume))) {
    return present === undefined ? {} : release(store, present, signal);
  }
  const attachment = present ?? (await ensureAttachment(store, name, signal));
  const tickets = ticketsOf(attachment);
  if (attachment.metadata.deletionTimestamp !== undefined && tickets.length === 0) {
    return release(store, attachment, signal);
  }
  const now = clock();
  const ownersGone = await findOwnersGone(store, tickets, signal);
  const decision = decide({ volume, attachment, nodes: nodes(), ownersGone, now });
  const changed = await applyStep(store, { volume, attachment, now }, decision, signal);
  return changed ? "again" : untilExpiry(tickets, now);
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

function untilExpiry(tickets: readonly { expiresAt?: string }[], now: Date): { requeueAfterMs?: number } {
  const ends = tickets.flatMap((t) => (t.expiresAt === undefined ? [] : [Date.parse(t.expiresAt)]));
  return ends.length === 0 ? {} : { requeueAfterMs: Math.max(1, Math.min(...ends) - now.getTime()) };
}

async function findVolume(
  store: ObjectStore,
  name: string,
  signal: AbortSignal,
): Promise<Volume | undefined> {
  try {
    return await store.get(Volumes, { name }, signal);
  } catch (error) {
    if (isNotFound(error)) return undefined;
    throw error;
  }
}
