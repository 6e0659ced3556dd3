import { type CallContext, CsiError, type v1 } from "@mooring/csi";
import type { DriverContext } from "../context.ts";
import { shortText } from "../health/short-text.ts";
import { getVolume } from "../objects/find.ts";
import { incompatibility, parseCapabilities } from "../request/capability.ts";
import { parseMutableParameters, parseParameters } from "../request/parameters.ts";

/** ValidateVolumeCapabilities: confirms all that was requested, or has a message why not. */
export async function validateVolumeCapabilities(
  driver: DriverContext,
  request: v1.ValidateVolumeCapabilitiesRequest,
  { signal }: CallContext,
) {
  if (request.volumeCapabilities.length === 0)
    throw CsiError.invalidArgument("volume_capabilities is required");
  const volume = await getVolume(driver.store, request.volumeId, signal);
  const reasons: string[] = [];
  try {
    for (const capability of parseCapabilities(request.volumeCapabilities, "volume_capabilities")) {
      const reason = incompatibility(volume, capability);
      if (reason !== undefined) reasons.push(reason);
    }
    parseParameters(request.parameters);
    parseMutableParameters(request.mutableParameters);
  } catch (error) {
    // Not supported is a response here, not a failure.
    if (!(error instanceof CsiError)) throw error;
    reasons.push(error.message);
  }
  if (reasons.length > 0) return { message: shortText(reasons.join("; ")) };
  const { volumeContext, volumeCapabilities, parameters, mutableParameters } = request;
  return { confirmed: { volumeContext, volumeCapabilities, parameters, mutableParameters } };
}
