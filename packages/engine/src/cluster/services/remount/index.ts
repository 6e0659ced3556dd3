import { isNotFound, mutate, runController, source, WorkQueue } from "@mooring/store";
import { remountsOwed } from "../../../api/remount.ts";
import { type Volume, type VolumeStatus, Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { ticketsOf } from "../../../tickets/tickets-of.ts";
import type { ServicesContext } from "../context.ts";

/** Takes back the request to mount a volume again once nobody has it mounted as it was before. */
export function runRemounts(context: ServicesContext): Promise<void> {
  const { volumes, attachments } = context.informers;
  return runController(
    {
      name: "remount",
      logger: context.logger,
      queue: new WorkQueue({ maxMs: 10_000 }),
      sources: [
        source(volumes, (volume) => (hasRequest(volume) ? [volume.metadata.name] : [])),
        source(attachments, ({ metadata: { name } }) => (hasRequest(volumes.get(name)) ? [name] : [])),
      ],
      reconcile: (name) => reconcileRemount(context, name),
    },
    context.signal,
  );
}

function hasRequest(volume: Volume | undefined): boolean {
  return volume?.status?.remountRequestedAt !== undefined || volume?.status?.remounted !== undefined;
}

async function reconcileRemount({ store, signal }: ServicesContext, name: string): Promise<object> {
  try {
    const volume = await store.get(Volumes, { name }, signal);
    if (!hasRequest(volume)) return {};
    // Read after the request: whoever had the volume then is in it.
    const attachment = await getAttachment(store, name, signal);
    const tickets = attachment === undefined ? [] : ticketsOf(attachment);
    if (remountsOwed(volume, tickets).length > 0) return {};
    const answered = volume.status?.remountRequestedAt;
    const clear = ({ status }: Volume): void => {
      // A newer request has not been looked at.
      if (status?.remountRequestedAt === answered) clearRequest(status);
    };
    await mutate(store, Volumes, { name }, clear, { subresource: "status", signal });
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
  return {};
}

function clearRequest(status: VolumeStatus | undefined): void {
  delete status?.remountRequestedAt;
  delete status?.remounted;
}
