import { type EventRecorder, failpoint, type ObjectStore } from "@mooring/store";
import { type VolumeAttachment, VolumeAttachments } from "../../api/attachment.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import { ensureAttachment, releaseAttachment } from "../../tickets/attachment-object.ts";
import { emitEvents, reportLost } from "./events.ts";
import type { ArbiterStep } from "./steps.ts";

const afterTickets = failpoint("engine/arbiter/tickets-edited");
const afterStatus = failpoint("engine/arbiter/results-written");
const afterPlacement = failpoint("engine/arbiter/volume-placed");

interface ArbiterEffects {
  store: ObjectStore;
  events: EventRecorder;
  signal: AbortSignal;
}

/** Makes that change. Throws Conflict when somebody else was faster. */
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
      afterTickets();
      break;
    case "record-results": {
      const writes = [record(store, step.attachment, signal)];
      if (step.volume !== undefined) writes.push(place(store, step.volume, signal));
      await Promise.all(writes).finally(() => Promise.allSettled(writes));
      break;
    }
    case "place-volume":
      await place(store, step.volume, signal);
  }
  emitEvents(events, step.view, step);
}

async function record(store: ObjectStore, attachment: VolumeAttachment, signal: AbortSignal): Promise<void> {
  await store.updateStatus(VolumeAttachments, attachment, { signal });
  afterStatus();
}

async function place(store: ObjectStore, volume: Volume, signal: AbortSignal): Promise<void> {
  await store.update(Volumes, volume, { signal });
  afterPlacement();
}
