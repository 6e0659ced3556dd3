import { v1 } from "@mooring/csi";
import type { ModeName } from "./access-modes.ts";

/** One VolumeCapability of a request. */
export interface Capability {
  mode: ModeName;
  /** Absent: a raw block volume. */
  mount?: { fsType: string; mountFlags: string[] };
}

/** A capability as the wire wants it. */
export function toWire({ mode, mount }: Capability) {
  const accessMode = { mode: v1.VolumeCapability_AccessMode_Mode[mode] };
  return mount === undefined
    ? { accessMode, accessType: { case: "block" as const, value: {} } }
    : { accessMode, accessType: { case: "mount" as const, value: mount } };
}
