import { existsSync } from "node:fs";
import { open, rm } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder } from "@mooring/store";

/** Beside an image: it is thick. Made before the image, and gone after it. */
export const THICK_SUFFIX = ".thick";

const markOf = (folder: string, id: string): string => join(folder, `${id}${THICK_SUFFIX}`);

/** Whether the image, or the one that is about to be made, is thick. */
export function isThick(folder: string, id: string): boolean {
  return existsSync(markOf(folder, id));
}

/** On disk when it resolves: an image that is there is never taken for a thin one. */
export async function markThick(folder: string, id: string): Promise<void> {
  await (await open(markOf(folder, id), "w", 0o600)).close();
  await syncFolder(folder);
}

/** Takes the mark away; none is fine. */
export async function unmarkThick(folder: string, id: string): Promise<void> {
  await rm(markOf(folder, id), { force: true });
}
