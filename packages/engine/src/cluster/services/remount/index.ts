import {
  DONE,
  getIfAny,
  isConflict,
  isNotFound,
  mutate,
  type Outcome,
  Reconciler,
  source,
  stepFailpoints,
} from "@mooring/store";
import type { AttachmentTicket } from "../../../api/attachment.ts";
import { remountsOwed } from "../../../api/remount.ts";
import { type Volume, type VolumeStatus, Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { ticketsOf } from "../../../tickets/tickets-of.ts";
import type { ServicesContext } from "../context.ts";

type RemountStep = { do: "clear-request" };

const failpoints = stepFailpoints<RemountStep>("engine/services/remount", { "clear-request": true });

interface RemountView {
  volume: Volume;
  tickets: readonly AttachmentTicket[];
}

/** Takes back the request to mount a volume again once no workload has it mounted as it was before. */
export function runRemounts({ informers, logger, signal, store }: ServicesContext): Promise<void> {
  const { volumes, attachments } = informers;
  return new Reconciler<RemountView, RemountStep | Outcome>({
    name: "remount",
    failpoints,
    store,
    logger,
    backoff: { maxMs: 10_000 },
    sources: [source(volumes, (volume) => (hasRequest(volume) ? [volume.metadata.name] : []))],
    watched: [attachments],
    async read(name, { reader }) {
      const volume = await getIfAny(reader.store, Volumes, { name }, signal);
      if (volume === undefined || !hasRequest(volume)) return undefined;
      // Read after the request: the workload that had the volume then is in it.
      const attachment = await getAttachment(reader.store, name, signal);
      return { volume, tickets: attachment === undefined ? [] : ticketsOf(attachment) };
    },
    decide: ({ volume, tickets }) =>
      remountsOwed(volume, tickets).length > 0 ? DONE : { do: "clear-request" },
    async apply(_, { volume }) {
      const latest = volume.status?.remountRequestedAt;
      const clear = ({ status }: Volume): void => {
        // A newer request has not been read.
        if (status?.remountRequestedAt === latest) clearRequest(status);
      };
      await mutate(store, Volumes, volume.metadata, { change: clear, subresource: "status", signal });
    },
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  }).run(signal);
}

function hasRequest(volume: Volume | undefined): boolean {
  return volume?.status?.remountRequestedAt !== undefined || volume?.status?.remounted !== undefined;
}

function clearRequest(status: VolumeStatus | undefined): void {
  delete status?.remountRequestedAt;
  delete status?.remounted;
}
