import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import { Volumes } from "@mooring/engine";
import { mutate } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { withAttached } from "../node/context.ts";
import { applyTuning } from "../node/tuning.ts";
import { parseMutableParameters } from "../request/parameters.ts";
import { getVolume } from "./objects.ts";

/**
 * ControllerModifyVolume: all of the parameters or none. They take effect at once where this process is also the
 * volume's node, elsewhere when the volume is staged next.
 */
export async function modifyVolume(
  driver: DriverContext,
  request: v1.ControllerModifyVolumeRequest,
  { signal }: CallContext,
) {
  if (Object.keys(request.mutableParameters).length === 0) {
    throw CsiError.invalidArgument("mutable_parameters is required");
  }
  const { name } = (await getVolume(driver.store, request.volumeId, signal)).metadata;
  const parameters = parseMutableParameters(request.mutableParameters);
  const change = (volume: { spec: { mutableParameters?: Record<string, string> } }) => {
    volume.spec.mutableParameters = { ...volume.spec.mutableParameters, ...parameters };
  };
  const volume = await mutate(driver.store, Volumes, { name }, change, { signal });
  if (driver.mode === "all" && volume.status?.currentNodeID === driver.nodeID) {
    await withAttached(driver, volume, (attached) => applyTuning(driver, volume, attached));
  }
  return {};
}
