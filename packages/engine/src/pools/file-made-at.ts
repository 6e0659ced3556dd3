import { stat } from "node:fs/promises";
import type { Image } from "./image.ts";

/** When the file or folder of an image was made: a copy makes it, and no process writes to that of a snapshot again. */
export async function fileMadeAt({ path }: Image): Promise<Date> {
  const { birthtime, mtime } = await stat(path);
  // File systems without birth times report 1970.
  return birthtime.getTime() > 0 ? birthtime : mtime;
}
