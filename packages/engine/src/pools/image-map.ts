import { stat } from "node:fs/promises";
import { join } from "node:path";
import { isShared, type Pool } from "../api/pool.ts";
import { EngineError } from "../errors.ts";
import { type Extent, fileExtents } from "../host/filesystem/extents.ts";
import { absent, IMAGE_SUFFIX } from "./file-images.ts";
import { checkImageId } from "./image-id.ts";
import { poolLayout, sharedLayout } from "./layout.ts";
import { type MapReader, rbdMap } from "./rbd/rbd-map.ts";

/** Where an image has data. */
export interface ImageMap {
  /** Bytes of the image. */
  size: number;
  /** Its extents, read anew by every call. Only those of images that no process writes to, such as snapshots, stay true. */
  extents(signal?: AbortSignal): AsyncIterable<Extent>;
}

/**
 * The map of an image in a pool that is open on this node, by this process or another one. Throws NOT_FOUND when the
 * image is not there, FAILED_PRECONDITION when the pool keeps folders instead of devices.
 */
export async function imageMap(pool: Pool, id: string, reader: MapReader): Promise<ImageMap> {
  const { name } = pool.metadata;
  const { type, path } = pool.spec;
  if (type === "directory") {
    throw new EngineError("FAILED_PRECONDITION", `pool ${name} keeps files, which have no block map`, {
      hint: "copy the whole snapshot, or use an xfs or btrfs pool",
    });
  }
  if (type === "rbd") return rbdMap(pool, id, reader);
  const { images } = isShared(pool)
    ? sharedLayout(join(reader.stateDir, "pools", name), path)
    : poolLayout(type, path);
  const file = join(images, `${checkImageId(id)}${IMAGE_SUFFIX}`);
  const info = await stat(file).catch(absent);
  if (info === undefined) throw new EngineError("NOT_FOUND", `image ${id} is not in pool ${name}`);
  return { size: info.size, extents: (signal) => fileExtents(file, signal) };
}
