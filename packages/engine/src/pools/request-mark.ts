import { readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder } from "@mooring/store";

/** Beside an image: which request has put another one in its place. Made after that, and gone after the image. */
export const REQUEST_SUFFIX = ".request";

const markOf = (folder: string, id: string): string => join(folder, `${id}${REQUEST_SUFFIX}`);

/** Undefined where nothing has been put in the image's place, or a kill came before that was noted. */
export async function readRequest(folder: string, id: string): Promise<string | undefined> {
  return readFile(markOf(folder, id), "utf8").catch(() => undefined);
}

/** On disk when it resolves. */
export async function markRequest(folder: string, id: string, request: string): Promise<void> {
  await writeFile(markOf(folder, id), request, { flush: true, mode: 0o600 });
  await syncFolder(folder);
}

/** Takes the mark away; none is fine. */
export async function unmarkRequest(folder: string, id: string): Promise<void> {
  await rm(markOf(folder, id), { force: true });
}
