import type { CsiClient } from "@mooring/csi";
import { KeyedLock } from "@mooring/store";

/** Calls that change a volume which exists. CreateVolume has a record, and so a queue, of its own per name. */
const EXCLUSIVE = [
  "deleteVolume",
  "controllerPublishVolume",
  "controllerUnpublishVolume",
  "controllerExpandVolume",
] as const;

type Call = (request: { volumeId?: string }, options?: unknown) => Promise<unknown>;

/**
 * The same client, but at most one of these calls is in flight per volume, whichever controller makes it (csi.v1,
 * "Concurrency"). Waiting does not count as time of the call.
 */
export function oneAtATime(client: CsiClient): CsiClient {
  const locks = new KeyedLock();
  const exclusive =
    (call: Call): Call =>
    (request, options) =>
      locks.run(request.volumeId ?? "", () => call(request, options));
  const methods = client.controller as unknown as Record<string, Call>;
  const wrapped = EXCLUSIVE.flatMap((name) => {
    const call = methods[name];
    return call === undefined ? [] : [[name, exclusive(call)] as const];
  });
  return { ...client, controller: { ...client.controller, ...Object.fromEntries(wrapped) } } as CsiClient;
}
