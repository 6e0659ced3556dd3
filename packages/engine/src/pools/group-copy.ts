import type { ImageFeature } from "../api/image-features.ts";
import type { Image } from "./image.ts";

/** One image of a group to be copied. */
export interface Copy {
  /** Image to copy. */
  source: string;
  /** Image to make; nothing of the name may be there. */
  id: string;
  /** Bytes of the image to make; default the source's. Fewer are refused with OUT_OF_RANGE. */
  size?: number;
  /** No process writes to the source during the copy: then a pre-copy is brought up to date. */
  still?: boolean;
  /** As in `MakeOptions`. */
  thick?: boolean;
  /** As in `MakeOptions`. */
  imageFeatures?: readonly ImageFeature[] | undefined;
}

/** Copies of images that take long to clone, made while they are being written to. For one `beginCopy`, or none. */
export interface PreCopies {
  /** Removes those that no group copy has taken; more than once is fine. */
  drop(): Promise<void>;
}

/**
 * Copies of several images in three parts, so that only the middle one lies between the moment at which writers are
 * quiet and the moment at which they go on. Space for all copies is set aside when it is begun.
 */
export interface GroupCopy {
  /**
   * `one-moment`: all images are copied by a single operation, whatever is written meanwhile. `each`: every image at a
   * moment of its own, so writers must be quiet from the first to the last.
   */
  readonly atomicity: "one-moment" | "each";
  /** Fixes the content. Nothing of it has a name of its own yet. */
  copy(): Promise<void>;
  /** Turns what was copied into images, on disk when this resolves. Copies of thick images take their time here. */
  finish(signal?: AbortSignal): Promise<Image[]>;
  /** Removes whatever has been made; also after a failure of the others, and more than once. */
  abandon(): Promise<void>;
}

/** How a kind of pool copies groups; sources are there, ids and space have been seen to. */
export interface GroupCopier {
  readonly atomicity: GroupCopy["atomicity"];
  /** Removes what killed processes left, when the pool is opened. */
  sweep(): Promise<void>;
  /** Absent where nothing takes long. */
  preCopy?(copies: readonly Work[], signal?: AbortSignal): Promise<PreCopies>;
  /** `preCopies`: of an earlier `preCopy` of this copier. */
  begin(
    copies: readonly Work[],
    preCopies?: PreCopies,
  ): Promise<Pick<GroupCopy, "copy" | "finish" | "abandon">>;
}

/** A copy whose source has been found. */
export type Work = Copy & { from: Image; size: number };
