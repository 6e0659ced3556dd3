import { type Volume, Volumes } from "@mooring/engine";
import { mutate } from "@mooring/store";
import type { NodeContext } from "./context.ts";

/**
 * Notes that this node handles the volume's request to be mounted again: nothing of it is mounted here now, and what is
 * mounted next is what the volume is now. Written before that, or a kill in between would leave the request for ever:
 * the next call finds its work done.
 */
export async function noteRemounted(
  { store, nodeID }: NodeContext,
  volume: Volume,
  signal: AbortSignal,
): Promise<void> {
  const request = volume.status?.remountRequestedAt;
  if (request === undefined || volume.status?.remounted?.[nodeID] === request) return;
  const put = ({ status }: Volume): void => {
    // One that came since is about something that happens now.
    if (status?.remountRequestedAt === request) status.remounted = { ...status.remounted, [nodeID]: request };
  };
  const { name } = volume.metadata;
  await mutate(store, Volumes, { name }, { change: put, subresource: "status", signal });
}
