import { mkdir, stat } from "node:fs/promises";
import { dirname } from "node:path";

/** A folder that an operator named cannot be made; the message names it, and what to do. */
export class FolderError extends Error {
  override readonly name = "FolderError";
  /** What an operator can do about it. */
  readonly hint = "name a folder that is there, or a path at which one can be made";

  constructor(folder: string, cause: Error) {
    super(`the folder ${folder} cannot be made: ${cause.message}`, { cause });
  }
}

/**
 * Makes a folder, and those above it, where they are missing. For paths that users name, instead of mkdir with
 * `recursive`: Node tries that for ever where a file system has no folder and refuses to make one, as in /proc. Throws
 * FolderError there and where something is that is no folder, and else the error of mkdir(2) (EACCES, ENOTDIR, EROFS, ...).
 */
export async function makeFolder(folder: string, mode = 0o777): Promise<void> {
  const make = () => mkdir(folder, { mode });
  await make()
    .catch(async (error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT" || dirname(folder) === folder) throw error;
      await makeFolder(dirname(folder), mode);
      await make();
    })
    .catch(async (error: NodeJS.ErrnoException) => {
      const present = await stat(folder).catch(() => undefined);
      if (present?.isDirectory() === true) return;
      throw error.code === "ENOENT" || error.code === "EEXIST" ? new FolderError(folder, error) : error;
    });
}
