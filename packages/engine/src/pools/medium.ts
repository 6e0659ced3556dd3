import type { GroupCopier } from "./group-copy.ts";
import type { ImageDevices } from "./image-devices.ts";
import type { ImageStore } from "./image-store.ts";
import type { PoolFault } from "./pool-fault.ts";
import type { ThickFiles } from "./thick-files.ts";

/** Bytes of a pool, and those that images can still take, to this moment. */
export interface PoolRoom {
  totalBytes: number;
  freeBytes: number;
  /** The disk below the pool's sparse file has less left than the pool: it is what is full. */
  disk?: string | undefined;
}

/**
 * What the images of a pool lie on: all that differs between kinds of pools. What they have in common is in `createPool`:
 * who may have the pool open, what it has promised, and that an image is worked on once at a time.
 */
export interface Medium {
  /** Block devices can be made of the images. */
  readonly block: boolean;
  /** Others make and remove images in it as well: what there is has to be counted anew each time. */
  readonly several: boolean;
  readonly images: ImageStore;
  readonly copier: GroupCopier;
  readonly devices: ImageDevices;
  /** Absent where there are no thick images. */
  readonly thick?: ThickFiles | undefined;
  /** Images have features that can be chosen. */
  readonly featured?: boolean;
  /** What a message calls pools of this kind: `of type btrfs`. */
  readonly description: string;
  /** Makes it where it is not there, and brings it within reach; one that has failed anew, unless its images are in use. */
  open(): Promise<void>;
  /** Closes again what the last `open` has mounted or attached, after a failure in it or behind it. */
  undoOpen?(): Promise<void>;
  /** Undefined while it works. */
  fault(): Promise<PoolFault | undefined>;
  /** Closes it; images stay. None is in use. */
  close(): Promise<void>;
  /** Who uses images here, as texts for messages. */
  users(): Promise<string[]>;
  room(): Promise<PoolRoom>;
  /** What holds the images keeps writers waiting until there is room; absent where nothing does. */
  suspended?(): Promise<boolean>;
  /** Larger, while it is in use; nothing where it has no size of its own. */
  enlarge(size: number): Promise<void>;
}
