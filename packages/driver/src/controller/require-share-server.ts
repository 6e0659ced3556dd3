import { CsiError } from "@mooring/csi";
import { refusalOf, ShareManagers } from "@mooring/engine";
import { getIfAny } from "@mooring/store";
import type { DriverContext } from "../context.ts";

/**
 * Throws FAILED_PRECONDITION when the node that is to serve the volume to others cannot, or must not to this one, before an
 * operator has done something there, such as installing the server or naming its network: waiting would last for ever.
 */
export async function requireShareServer(
  { store }: DriverContext,
  { volumeId, nodeId }: { volumeId: string; nodeId: string },
  signal: AbortSignal,
): Promise<void> {
  const share = await getIfAny(store, ShareManagers, { name: volumeId }, signal);
  const refusal = refusalOf(share, nodeId);
  if (refusal !== undefined) {
    throw CsiError.failedPrecondition(`volume "${volumeId}" is not shared: ${refusal.message}`, {
      hint: "Do that and repeat the call, or run the workload on the node that has the volume.",
    });
  }
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
