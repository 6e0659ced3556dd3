import { CsiError } from "@mooring/csi";
import { type Pool, poolNodes, type Volume } from "@mooring/engine";
import type { DriverContext } from "../context.ts";
import { hasLimits, ioLimitsOf } from "../request/parameters.ts";

type Parameters = Volume["spec"]["mutableParameters"];

/**
 * Throws INVALID_ARGUMENT for limits of a volume in this pool that no node could keep. Whether another node can is known
 * there only: its NodeStageVolume reports it.
 */
export async function requireLimitable(
  driver: DriverContext,
  parameters: Parameters,
  pool: Pool | undefined,
): Promise<void> {
  if (!hasLimits(ioLimitsOf(parameters))) return;
  if (pool?.spec.type === "directory") {
    throw CsiError.invalidArgument(
      "volumes of directory pools have no device whose input and output could be limited",
    );
  }
  if (pool === undefined || !poolNodes(pool).includes(driver.nodeID)) return;
  const controller = await driver.ioLimits?.controller();
  if (controller !== undefined && "missing" in controller)
    throw noController(controller.missing, "invalidArgument");
}

/** Throws FAILED_PRECONDITION when this machine cannot apply the volume's limits to any workload. */
export async function requireLimitsHere(node: DriverContext, { spec }: Volume): Promise<void> {
  if (!hasLimits(ioLimitsOf(spec.mutableParameters))) return;
  const controller = await node.ioLimits?.controller();
  if (controller !== undefined && "missing" in controller)
    throw noController(controller.missing, "failedPrecondition");
}

const HINT = "Boot with systemd.unified_cgroup_hierarchy=1, or leave the limits out.";

/** `code`: what the caller's call gives to parameters that cannot be met. */
function noController(missing: string, code: "invalidArgument" | "failedPrecondition"): CsiError {
  return CsiError[code](`this machine cannot limit input and output: ${missing}`, { hint: HINT });
}
