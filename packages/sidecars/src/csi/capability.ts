import { v1 } from "@mooring/csi";
import type { Capability } from "../provision/intent.ts";

/** A capability as the wire wants it. */
export function toWire({ mode, mount }: Capability) {
  const accessMode = { mode: v1.VolumeCapability_AccessMode_Mode[mode] };
  return mount === undefined
    ? { accessMode, accessType: { case: "block" as const, value: {} } }
    : { accessMode, accessType: { case: "mount" as const, value: mount } };
}
