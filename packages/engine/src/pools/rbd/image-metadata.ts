import type { RbdCommands } from "./commands.ts";
import { readOmapValue } from "./omap.ts";
import type { RbdInfo } from "./rbd-info.ts";

/**
 * What Ceph's metadata of an image has for a key. Read from its header, not by `rbd image-meta`, which opens the image for writing, and so
 * for no user who may only read.
 */
export function readImageMetadata(
  commands: RbdCommands,
  { id }: Pick<RbdInfo, "id">,
  key: string,
): Promise<string | undefined> {
  return readOmapValue(commands, `rbd_header.${id}`, `metadata_${key}`);
}
