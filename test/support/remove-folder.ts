import { readFile, rm } from "node:fs/promises";

/**
 * Removes a folder with everything in it. Throws, and removes nothing, when something is mounted below it: that would go as well,
 * volumes and their snapshots, while whoever has mounted it may still be there.
 */
export async function removeFolder(folder: string): Promise<void> {
  const mounts = await mountsBelow(folder);
  if (mounts.length > 0) throw new Error(`not removed, as it is still mounted: ${mounts.join(", ")}`);
  await rm(folder, { recursive: true, force: true });
}

async function mountsBelow(folder: string): Promise<string[]> {
  const lines = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  const targets = lines.map((line) => (line.split(" ")[4] ?? "").replaceAll("\\040", " "));
  return targets.filter((target) => target === folder || target.startsWith(`${folder}/`));
}
