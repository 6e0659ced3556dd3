import { constants } from "node:fs";
import { type FileHandle, open } from "node:fs/promises";

/** Linux' O_PATH: names a file without opening it. Node does not export it. */
export const O_PATH = 0o10000000;

/** The path of a file in an open folder: it leads there also when the folder is moved, or a link takes its place. */
export function childPath(folder: FileHandle, name: string): string {
  return `/proc/self/fd/${folder.fd}/${name}`;
}

/** A file in an open folder, not opened for reading; undefined when it is not there. A link is not followed: it is what is returned. */
export async function openChild(folder: FileHandle, name: string): Promise<FileHandle | undefined> {
  try {
    return await open(childPath(folder, name), O_PATH | constants.O_NOFOLLOW);
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}
