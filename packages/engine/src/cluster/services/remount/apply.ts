import { mutate } from "@mooring/store";
import { type Volume, Volumes } from "../../../api/volume.ts";
import type { ServicesContext } from "../context.ts";

/** Takes the request back that was read, and no newer one. */
export async function clearRequest(
  { store, signal }: Pick<ServicesContext, "store" | "signal">,
  volume: Volume,
): Promise<void> {
  const latest = volume.status?.remountRequestedAt;
  const change = ({ status }: Volume): void => {
    if (status?.remountRequestedAt !== latest) return;
    delete status?.remountRequestedAt;
    delete status?.remounted;
  };
  await mutate(store, Volumes, volume.metadata, { change, subresource: "status", signal });
}
