import { rm } from "node:fs/promises";
import { mountsOf } from "../../scripts/lib/tests/sweep.mjs";

/**
 * Removes a folder with everything in it. Throws, and removes nothing, when something is mounted below it: that would go as well,
 * volumes and their snapshots, while whoever has mounted it may still be there.
 */
export async function removeFolder(folder: string): Promise<void> {
  const mounts = await mountsOf(folder);
  if (mounts.length > 0) throw new Error(`not removed, as it is still mounted: ${mounts.join(", ")}`);
  await rm(folder, { recursive: true, force: true });
}
