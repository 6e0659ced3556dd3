import { CsiError } from "@mooring/csi";
import type { DriverContext } from "../context.ts";
import { findVolume } from "./find.ts";

/**
 * Throws FAILED_PRECONDITION when the volume cannot be detached because a process uses it on its node: a node service
 * has to be called first, and waiting would last for ever.
 */
export async function requireUnmounted(
  driver: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  const why = await whyNotDetached(driver, volumeId, signal);
  if (why !== undefined) throw CsiError.failedPrecondition(why, { hint: HINT });
}

/**
 * For calls that copy the volumes: they go on when the volumes are free, at a time that cannot be predicted. Throws
 * ABORTED, since what was asked for is still pending.
 */
export async function requireMovable(
  driver: DriverContext,
  volumeIds: readonly string[],
  signal: AbortSignal,
): Promise<void> {
  for (const volumeId of volumeIds) {
    const why = await whyNotDetached(driver, volumeId, signal);
    if (why !== undefined) throw CsiError.aborted(`pending, because ${why}`, { hint: HINT });
  }
}

const HINT = "Call NodeUnpublishVolume and NodeUnstageVolume on its node first, then repeat this call.";

/** Why the volume cannot be detached, when a node service has to be called first. */
async function whyNotDetached(
  { store }: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<string | undefined> {
  const volume = await findVolume(store, volumeId, signal);
  const { state, error } = volume?.status ?? {};
  if (state !== "detaching" || error?.code !== "FAILED_PRECONDITION") return undefined;
  // It stays where it is: a workload has come back to it.
  if ((volume?.spec.nodeID ?? "") !== "") return undefined;
  return `volume "${volumeId}" cannot be detached: ${error.message}`;
}
