import { CsiError } from "@mooring/csi";
import type { DriverContext } from "../context.ts";
import { findVolume } from "./objects.ts";

/**
 * Throws FAILED_PRECONDITION when the volume cannot be detached because somebody uses it on its node: a node service
 * has to be called first, and waiting would last for ever.
 */
export async function requireNotMounted(
  driver: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  const { state, error } = (await findVolume(driver.store, volumeId, signal))?.status ?? {};
  if (state !== "detaching" || error?.code !== "FAILED_PRECONDITION") return;
  throw CsiError.failedPrecondition(`volume "${volumeId}" cannot be detached: ${error.message}`, {
    hint: "Call NodeUnpublishVolume and NodeUnstageVolume on its node first, then repeat this call.",
  });
}
