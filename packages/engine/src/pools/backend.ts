import type { ImageFeature } from "../api/image-features.ts";
import type { PoolType } from "../api/pool.ts";
import type { Copy, GroupCopy, PreCopies } from "./group-copy.ts";
import type { Image } from "./image.ts";
import type { ImageDevices } from "./image-devices.ts";
import type { PoolFault } from "./pool-fault.ts";

/** How full a pool is, in bytes. */
export interface PoolUsage {
  totalBytes: number;
  /** What writers can still write. */
  freeBytes: number;
  /** A folder on the disk below, where that has less left than the pool. */
  disk?: string | undefined;
  /** What is left besides, in a pool that suspends its writers before it is full; absent in others. */
  keptBytes?: number;
  /** Sum of the sizes of all volumes: what has been promised to users. */
  promisedBytes: number;
  /** The part of it whose room is taken already: the sizes of thick volumes. */
  thickBytes: number;
}

/** How an image is made. */
export interface MakeOptions {
  signal?: AbortSignal | undefined;
  /**
   * All its blocks are set aside, so that writes into it never fail for want of room. Counts when the image is made; other
   * pools than local ones of XFS refuse it with INVALID_ARGUMENT.
   */
  thick?: boolean;
  /** Of an image in a Ceph pool; default: those of its source, else all. Other pools refuse them with INVALID_ARGUMENT. */
  imageFeatures?: readonly ImageFeature[] | undefined;
}

/** How an image takes another one's place. */
export interface ReplaceOptions {
  signal?: AbortSignal | undefined;
  /** Who wants it, in one line: kept with the image, see `requestOf`. */
  request?: string | undefined;
}

/** What a pool may promise; what is absent has its default. */
export interface PoolLimits {
  /** Promised bytes may exceed the pool's size by this factor; default 1. */
  overcommit?: number;
  /** Bytes kept free; default 5 % of the pool. */
  reserve?: number;
}

/**
 * One kind of pool. All operations are idempotent by id and survive a kill between any two of their steps: data is
 * made under a temporary name, synced and renamed. Ids are `[vs]-[a-z0-9-]+`, checked before they touch a path.
 */
export interface PoolBackend {
  readonly type: PoolType;
  /** Block devices can be made of the images; false for `directory`. */
  readonly block: boolean;
  /** How images become devices; only where `block` is true. */
  readonly devices: ImageDevices;
  /** False before `open` and after `close`: nothing may be done then. */
  readonly isOpen: boolean;
  /** Makes the pool when it is not there, mounts it, removes half-made images. */
  open(): Promise<void>;
  /** Releases what `open` took; images stay. Refuses while an image is in use. */
  close(): Promise<void>;
  /** Releases a pool whose images are in use: it stays mounted, and another process may open it. */
  leave(): Promise<void>;
  usage(): Promise<PoolUsage>;
  /** Undefined while the pool's file system works. */
  fault(): Promise<PoolFault | undefined>;
  /** Mounts a file system that has failed anew, as `open` does; for an open pool none of whose images is in use. */
  reopen(): Promise<void>;
  /** Writes into images wait until there is room again: nothing may be opened for writing meanwhile. */
  writersSuspended(): Promise<boolean>;
  /** Whether writers are to wait before the pool is full; never where the pool cannot make them. */
  holdsWriters(): boolean;
  /** From now on they wait, or not any more: then those that do go on, and fail when it is full. For an open pool. */
  holdWriters(wanted: boolean): Promise<void>;
  /** Starts the keeper of the pool's writers where it has died; nothing where the pool has none. */
  watch(): Promise<void>;
  /** Makes the file behind the pool, and its file system, larger while it is in use. Never smaller. */
  enlarge(size: number): Promise<void>;
  readonly limits: PoolLimits;
  /** Other limits from now on. What has been promised stays promised. */
  limit(limits: PoolLimits): void;
  list(): Promise<Image[]>;
  find(id: string): Promise<Image | undefined>;
  /** When it was made. */
  madeAt(image: Image): Promise<Date>;
  /** A new, empty image. The same id with the same size is the same image. Throws RESOURCE_EXHAUSTED below the reserve. */
  create(id: string, size: number, options?: MakeOptions): Promise<Image>;
  /**
   * A copy of `source` (a volume or a snapshot) at one point in time; `size` may be larger. That of a thick image shares no
   * block with it, so it takes as long as it takes to copy them, and fails with RESOURCE_EXHAUSTED where there is no room.
   */
  clone(source: string, id: string, size: number, options?: MakeOptions): Promise<Image>;
  /**
   * Copies what would take long to copy in the group copy, while it is being written to. For the next `beginCopy` of the same
   * copies, after which, or instead of which, it is dropped. Throws RESOURCE_EXHAUSTED below the reserve.
   */
  preCopy(copies: readonly Copy[], signal?: AbortSignal): Promise<PreCopies>;
  /**
   * Copies of several images at one moment, see `GroupCopy`; each as large as its source. No other call may copy, grow or
   * remove the sources until it is finished or abandoned. Throws RESOURCE_EXHAUSTED when not all of them fit.
   */
  beginCopy(copies: readonly Copy[], preCopies?: PreCopies): Promise<GroupCopy>;
  /**
   * Puts a copy of `source` in the place of `id`, whose bytes are gone then: the old image or the new one is there at
   * any moment, never none. `size` is the least that the image has afterwards. Refused while the image is attached.
   */
  replace(source: string, id: string, size: number, options?: ReplaceOptions): Promise<Image>;
  /**
   * The last request by which another image was put in the place of this one. Undefined where there was none, and in pools that do not
   * keep it (`rbd`).
   */
  requestOf(id: string): Promise<string | undefined>;
  /** Only ever grows. */
  grow(id: string, size: number): Promise<Image>;
  /**
   * Puts a copy in the image's place: a process that still has the old file open writes into a file without a name from then
   * on. For a shared pool's image whose last lease holder was not seen to close it. `clients`: addresses by which that one had it open,
   * for a storage that can refuse them.
   */
  renew(id: string, clients?: readonly string[]): Promise<void>;
  /** Resolves when the data is gone; an absent image is fine. */
  remove(id: string): Promise<void>;
}
