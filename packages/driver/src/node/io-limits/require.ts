import { CsiError } from "@mooring/csi";
import { type Pool, poolNodes, type Volume } from "@mooring/engine";
import type { DriverContext } from "../../context.ts";
import { hasLimits, ioLimitsOf } from "../../request/parameters.ts";
import { noController } from "./controller.ts";
import { workloadsOf } from "./groups.ts";

type Parameters = Volume["spec"]["mutableParameters"];

/**
 * Throws INVALID_ARGUMENT for limits of a volume in this pool that nobody could keep. Whether another node can is known
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

/** Throws FAILED_PRECONDITION when this machine cannot apply the volume's limits to anybody. */
export async function requireLimitsHere(node: DriverContext, { spec }: Volume): Promise<void> {
  if (!hasLimits(ioLimitsOf(spec.mutableParameters))) return;
  const controller = await node.ioLimits?.controller();
  if (controller !== undefined && "missing" in controller)
    throw noController(controller.missing, "failedPrecondition");
}

/** Throws FAILED_PRECONDITION when it is not known whose input and output are to be limited. */
export function requireWorkload({ spec }: Volume, targetPath: string): void {
  if (!hasLimits(ioLimitsOf(spec.mutableParameters)) || workloadsOf(targetPath).length > 0) return;
  throw CsiError.failedPrecondition(
    "the volume has I/O limits, but its target_path names no workload to limit",
    {
      hint: "Have the UID of the pod in the path, as kubelets do; control groups are named after it.",
    },
  );
}
