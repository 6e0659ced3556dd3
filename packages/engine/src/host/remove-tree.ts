import { rm } from "node:fs/promises";
import type { Exec } from "./host.ts";

/**
 * Removes a folder that others could write to, with all that is in it; one that is not there is fine. They may have nested
 * folders deeper than a path can name: `rm` goes from folder to folder. Stays on the folder's file system.
 */
export async function removeTree(exec: Pick<Exec, "run">, path: string): Promise<void> {
  try {
    // Without a process, which the usual tree is not worth.
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENAMETOOLONG") throw error;
    await exec.run("rm", ["--recursive", "--force", "--one-file-system", "--", path]);
  }
}
