import { type EventRecorder, failpoint, type ObjectStore } from "@mooring/store";
import { VolumeAttachments } from "../../api/attachment.ts";
import { Volumes } from "../../api/volume.ts";
import { ensureAttachment, releaseAttachment } from "../../tickets/attachment-object.ts";
import { emitEvents, reportLost } from "./events.ts";
import type { ArbiterStep } from "./steps.ts";

const afterTickets = failpoint("engine/arbiter/tickets-edited");
const afterStatus = failpoint("engine/arbiter/results-written");
const afterPlacement = failpoint("engine/arbiter/volume-placed");

/** Makes that change. Throws Conflict when somebody else was faster. */
export async function applyStep(
  { store, events, signal }: { store: ObjectStore; events: EventRecorder; signal: AbortSignal },
  step: ArbiterStep,
): Promise<void> {
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
    case "record-results":
      await store.updateStatus(VolumeAttachments, step.attachment, { signal });
      afterStatus();
      break;
    case "place-volume":
      await store.update(Volumes, step.volume, { signal });
      afterPlacement();
  }
  emitEvents(events, step.view, step);
}
