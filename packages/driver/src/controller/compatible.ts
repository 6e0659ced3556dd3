import { CsiError } from "@mooring/csi";
import { isServed, type Volume } from "@mooring/engine";
import { type Capability, modeOf } from "../request/capability.ts";
import { multiNodeModes, storedRequest } from "../request/volume-request.ts";

/** Why a volume cannot be used like this; undefined when it can. */
export function incompatibility(volume: Volume, capability: Capability): string | undefined {
  const stored = storedRequest(volume.spec.request);
  const mode = volume.spec.volumeMode === "Block" ? "block" : "mount";
  const allowed = stored === undefined ? [mode] : stored.capabilities.map((one) => one.access);
  if (!allowed.includes(capability.access)) {
    return `the volume was created for ${allowed.join(" and ")} access, not for ${capability.access}`;
  }
  const fsType = volume.status?.formatted ?? volume.spec.fsType;
  if (capability.fsType !== undefined && fsType !== undefined && capability.fsType !== fsType) {
    return `the volume has ${fsType}, not ${capability.fsType}`;
  }
  // A driver that is alone has made it for several nodes without serving it: all of them are the one that there is.
  const many = isServed(volume) || multiNodeModes(stored?.capabilities ?? []).length > 0;
  if (modeOf(capability).multiNode && !many && volume.spec.migratable !== true) {
    return `access mode ${capability.mode} is for several nodes, the volume was created for one`;
  }
  return undefined;
}

/** Throws INVALID_ARGUMENT for a use that the volume was not made for. */
export function requireCapability(volume: Volume, capability: Capability): void {
  const reason = incompatibility(volume, capability);
  if (reason === undefined) return;
  throw CsiError.invalidArgument(`volume_capability: ${reason}`, {
    hint: `Ask for what volume "${volume.metadata.name}" was made for, or make another volume.`,
  });
}
