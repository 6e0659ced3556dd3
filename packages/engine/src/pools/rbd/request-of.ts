import type { RbdCommands } from "./commands.ts";
import { readImageMetadata } from "./image-metadata.ts";
import type { RbdInfo } from "./rbd-info.ts";

/** In Ceph's metadata of an image: which request has put it in another one's place. Copies of it have it as well, and their own then. */
const KEY = "mooring.request";

/** The arguments of `rbd` that note it, before the image gets its name. */
export function requestArguments(image: string, request: string): string[] {
  return ["image-meta", "set", image, KEY, request];
}

/** Undefined where nothing has been put in the image's place. */
export function readRequest(commands: RbdCommands, image: Pick<RbdInfo, "id">): Promise<string | undefined> {
  return readImageMetadata(commands, image, KEY);
}
