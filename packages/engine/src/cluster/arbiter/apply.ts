import { type EventRecorder, failpoint, type ObjectStore } from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../../api/attachment.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { ensureAttachment, releaseAttachment } from "../../tickets/attachment-object.ts";
import { emitEvents, reportLost } from "./events.ts";
import type { ArbiterStep } from "./steps.ts";

/** Of the two writes that are made at the same time. */
const failpoints = {
  resultsWritten: failpoint("engine/arbiter/results-written"),
  volumePlaced: failpoint("engine/arbiter/volume-placed"),
};

interface ArbiterEffects {
  store: ObjectStore;
  events: EventRecorder;
  signal: AbortSignal;
}

/** Makes that change. Throws Conflict when another writer was faster. */
export async function applyStep({ store, events, signal }: ArbiterEffects, step: ArbiterStep): Promise<void> {
  switch (step.do) {
    case "make-attachment":
      await ensureAttachment(store, step.volume.metadata.name, signal);
      return;
    case "release-attachment":
      if (step.lost) reportLost(events, step.attachment);
      return releaseAttachment(store, step.attachment, signal);
    case "edit-tickets":
      await store.update(VolumeAttachments, step.attachment, { signal });
      break;
    case "record-results": {
      const patient = !isPromised(step.view.attachment) && !isPromised(step.attachment);
      const results = record(store, step.attachment, { signal, patient });
      if (step.volume === undefined) await results;
      else await both(results, place(store, step.volume, signal));
      break;
    }
    case "place-volume":
      await place(store, step.volume, signal);
  }
  emitEvents(events, step.view, step);
}

/**
 * Some ticket has the volume. No controller acts on why others wait, so the write that ends the wait comes before those
 * results.
 */
function isPromised({ status }: VolumeAttachment): boolean {
  return Object.values(status?.attachmentTicketStatuses ?? {}).some(({ satisfied }) => satisfied);
}

async function record(
  store: ObjectStore,
  attachment: VolumeAttachment,
  options: { signal: AbortSignal; patient: boolean },
): Promise<void> {
  await store.updateStatus(VolumeAttachments, attachment, options);
}

async function place(store: ObjectStore, volume: Volume, signal: AbortSignal): Promise<void> {
  await store.update(Volumes, volume, { signal });
}

/** Ends when both have, whichever is first, also when one fails. */
async function both(results: Promise<void>, placement: Promise<void>): Promise<void> {
  const writes = [results.then(failpoints.resultsWritten), placement.then(failpoints.volumePlaced)];
  await Promise.all(writes).finally(() => Promise.allSettled(writes));
}
