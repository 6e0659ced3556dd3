import { getIfAny, type Reader } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { getAttachment } from "../../../tickets/attachment-object.ts";
import { ticketsOf } from "../../../tickets/tickets-of.ts";
import type { RemountView } from "./decide.ts";

/** Reads a volume that has a request, and then its tickets; undefined for one without. */
export async function readRemount(
  store: Reader["store"],
  name: string,
  signal: AbortSignal,
): Promise<RemountView | undefined> {
  const volume = await getIfAny(store, Volumes, { name }, signal);
  if (volume === undefined || !hasRequest(volume)) return undefined;
  // Read after the request: the workload that had the volume then is in it.
  const attachment = await getAttachment(store, name, signal);
  return { volume, tickets: attachment === undefined ? [] : ticketsOf(attachment) };
}

/** Whether somebody has asked for new mounts, or nodes have made some that are still noted. */
export function hasRequest(volume: Volume): boolean {
  return volume.status?.remountRequestedAt !== undefined || volume.status?.remounted !== undefined;
}
