import { CsiError } from "@mooring/csi";
import { ShareManagers } from "@mooring/engine";
import { getIfAny } from "@mooring/store";
import type { DriverContext } from "../context.ts";

/**
 * Throws FAILED_PRECONDITION when the node that is to serve the volume to others cannot, before an operator has done
 * something there, such as installing the server: waiting would last for ever.
 */
export async function requireShareServer(
  { store }: DriverContext,
  volumeId: string,
  signal: AbortSignal,
): Promise<void> {
  const share = await getIfAny(store, ShareManagers, { name: volumeId }, signal);
  const { state, error } = share?.status ?? {};
  if (state === "running" || error?.code !== "FAILED_PRECONDITION") return;
  const node = share?.spec.nodeID ?? "";
  throw CsiError.failedPrecondition(
    `node "${node}" cannot serve volume "${volumeId}" to others: ${error.message}`,
    {
      hint: `Repair that on node "${node}" and repeat the call, or use a SINGLE_NODE access mode.`,
    },
  );
}
