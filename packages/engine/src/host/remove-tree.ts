import { realpath, rm } from "node:fs/promises";
import { EngineError } from "../errors.ts";
import type { Host } from "./host.ts";

/**
 * Removes a folder that others could write to, with all that is in it; one that is not there is fine. They may have nested
 * folders deeper than a path can name: `rm` goes from folder to folder. Refuses while anything is mounted in it: that may be a
 * user's data, which would be removed along with it.
 */
export async function removeTree(
  { exec, mounts }: Pick<Host, "exec" | "mounts">,
  path: string,
): Promise<void> {
  const real = await realpath(path).catch(() => path);
  const mounted = (await mounts.list()).find(({ target }) => target.startsWith(`${real}/`));
  if (mounted !== undefined) {
    const message = `${path} is not removed: ${mounted.target} is mounted in it`;
    throw new EngineError("FAILED_PRECONDITION", message, { hint: `unmount it: umount ${mounted.target}` });
  }
  try {
    // Without a process, which the usual tree is not worth.
    await rm(path, { recursive: true, force: true });
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code !== "ENAMETOOLONG") throw error;
    await exec.run("rm", ["--recursive", "--force", "--one-file-system", "--", path]);
  }
}
