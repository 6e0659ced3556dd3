import type { MountEntry } from "../../host/host.ts";

/** What can be left behind. */
export type LeakKind =
  | "image-without-record"
  | "record-without-image"
  | "half-made-image"
  | "device-without-volume"
  | "unexplained-mount"
  | "pool-without-record";

/** Something on this node that no object explains, or an object without what it should have. */
export interface Leak {
  kind: LeakKind;
  /** A path, a device or `Kind/name`. */
  subject: string;
  /** One sentence for an operator. */
  message: string;
  /** What an operator can do about it. Nothing here is ever removed without one. */
  fix: string;
}

/** A mount that another part of Mooring (a pod's folder, say) can account for. */
export type ExplainMount = (entry: MountEntry) => boolean;
