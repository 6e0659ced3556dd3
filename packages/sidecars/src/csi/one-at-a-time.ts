import type { CsiClient } from "@mooring/csi";

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
  const last = new Map<string, Promise<unknown>>();
  const exclusive =
    (call: Call): Call =>
    (request, options) => {
      const { volumeId = "" } = request;
      const before = last.get(volumeId) ?? Promise.resolve();
      const turn = before.catch(() => {}).then(() => call(request, options));
      last.set(volumeId, turn);
      const leave = () => {
        if (last.get(volumeId) === turn) last.delete(volumeId);
      };
      turn.then(leave, leave);
      return turn;
    };
  const methods = client.controller as unknown as Record<string, Call>;
  const wrapped = EXCLUSIVE.flatMap((name) => {
    const call = methods[name];
    return call === undefined ? [] : [[name, exclusive(call)] as const];
  });
  return { ...client, controller: { ...client.controller, ...Object.fromEntries(wrapped) } } as CsiClient;
}
