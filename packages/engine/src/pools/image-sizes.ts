import { EngineError } from "../errors.ts";
import type { Copy, Work } from "./group-copy.ts";
import type { Image } from "./image.ts";
import { wholeSectors } from "./sectors.ts";

/** The size that an image of so many bytes has. Throws INVALID_ARGUMENT for what is none. */
export function imageSize(size: number): number {
  if (!Number.isSafeInteger(size) || size <= 0) {
    throw new EngineError("INVALID_ARGUMENT", `${size} is no size of a volume in bytes`);
  }
  return wholeSectors(size);
}

/** Throws OUT_OF_RANGE where a clone would be smaller than what it is made from. */
export function requireRoom(from: Image, bytes: number): void {
  if (bytes >= from.size) return;
  const message = `a clone of ${from.id} needs at least ${from.size} bytes, not ${bytes}`;
  throw new EngineError("OUT_OF_RANGE", message);
}

/** A copy with the size that it gets. */
export function sized(copy: Copy, from: Image): Work {
  const size = copy.size === undefined ? from.size : imageSize(copy.size);
  requireRoom(from, size);
  return { ...copy, from, size };
}

/** The image, when it is as asked for. Throws ALREADY_EXISTS else. */
export function sameImage(image: Image, bytes: number, thick: boolean): Image {
  if ((image.thick ?? false) !== thick) {
    const message = `image ${image.id} exists, and is ${thick ? "thin" : "thick"}`;
    throw new EngineError("ALREADY_EXISTS", message);
  }
  if (image.size === bytes) return image;
  const message = `image ${image.id} exists with ${image.size} bytes, not ${bytes}`;
  throw new EngineError("ALREADY_EXISTS", message);
}
