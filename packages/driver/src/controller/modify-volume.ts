import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { isThickVolume, Volumes } from "@mooring/engine";
import { failpoint, mutate } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { withAttached } from "../node/context.ts";
import { applyTuning } from "../node/tuning.ts";
import { findPool, getVolume } from "../objects/find.ts";
import { requireLimitable } from "../objects/io-limits.ts";
import { parseMutableParameters, requireNoDiscard } from "../request/parameters.ts";

const recorded = failpoint("driver/modify-volume/recorded");
const tuned = failpoint("driver/modify-volume/tuned");
const limited = failpoint("driver/modify-volume/limited");

/**
 * ControllerModifyVolume: all of the parameters or none. They take effect at once where this process is also the
 * volume's node; where that is another process it follows the record.
 */
export async function modifyVolume(
  driver: DriverContext,
  request: v1.ControllerModifyVolumeRequest,
  { signal }: CallContext,
) {
  if (Object.keys(request.mutableParameters).length === 0) {
    throw CsiError.invalidArgument("mutable_parameters is required");
  }
  const present = await getVolume(driver.store, request.volumeId, signal);
  const { name } = present.metadata;
  const parameters = parseMutableParameters(request.mutableParameters);
  requireNoDiscard(isThickVolume(present), parameters);
  await requireLimitable(driver, parameters, await findPool(driver.store, present.spec.pool, signal));
  const change = (volume: { spec: { mutableParameters?: Record<string, string> } }) => {
    volume.spec.mutableParameters = { ...volume.spec.mutableParameters, ...parameters };
  };
  const volume = await mutate(driver.store, Volumes, { name }, { change: change, signal });
  recorded();
  if (driver.mode === "all" && volume.status?.currentNodeID === driver.nodeID) {
    await withAttached(driver, volume, (attached) => applyTuning(driver, volume, attached));
    tuned();
    await driver.ioLimits?.follow(volume);
    limited();
  }
  return {};
}
