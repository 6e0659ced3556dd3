import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { remains } from "../../packages/cli/src/demo/machine.ts";

/** Mounts, loop devices and processes that still use the folder: the kernel's word. */
export async function machineRemains(folder: string): Promise<string[]> {
  const { mounts, loops, processes } = await remains(folder);
  return [...mounts, ...loops, ...processes];
}

/** Files below a folder, with their whole paths. */
export async function filesBelow(folder: string): Promise<string[]> {
  const entries = await readdir(folder, { recursive: true, withFileTypes: true });
  return entries.filter((entry) => entry.isFile()).map((entry) => join(entry.parentPath, entry.name));
}
