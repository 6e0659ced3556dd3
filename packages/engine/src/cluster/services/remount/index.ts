import { isConflict, isNotFound, type Outcome, Reconciler, source, stepFailpoints } from "@mooring/store";
import type { ServicesContext } from "../context.ts";
import { clearRequest } from "./apply.ts";
import { decide, type RemountStep, type RemountView } from "./decide.ts";
import { hasRequest, readRemount } from "./read.ts";

const failpoints = stepFailpoints<RemountStep>("engine/services/remount", { "clear-request": true });

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
    read: (name, { reader }) => readRemount(reader.store, name, signal),
    decide,
    apply: (_, { volume }) => clearRequest({ store, signal }, volume),
    isOutdated: (error) => isConflict(error) || isNotFound(error),
  }).run(signal);
}
