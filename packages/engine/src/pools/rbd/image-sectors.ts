import { EngineError } from "../../errors.ts";
import type { SectorSize } from "../../host/host.ts";
import type { RbdCommands } from "./commands.ts";
import { readImageMetadata } from "./image-metadata.ts";

import type { RbdInfo } from "./rbd-info.ts";

/** Sectors of the devices of images that say nothing else. */
export const SECTOR_SIZE: SectorSize = 4096;
/**
 * In Ceph's metadata of an image. It says how its bytes were written, so it is kept with them: Ceph gives it to each clone, and so to
 * snapshots, to copies of those, and to what replaces a volume.
 */
const KEY = "mooring.sector-size";

/** The size of the sectors that the device of an image has. */
export async function readSectorSize(
  commands: RbdCommands,
  { id, name }: Pick<RbdInfo, "id" | "name">,
): Promise<SectorSize> {
  const found = await readImageMetadata(commands, { id }, KEY);
  if (found === undefined || found === String(SECTOR_SIZE)) return SECTOR_SIZE;
  if (found === "512") return 512;
  throw new EngineError("FAILED_PRECONDITION", `image ${name} has ${KEY} ${JSON.stringify(found)}`, {
    hint: "512 or 4096: rbd image-meta set",
  });
}

/** The arguments of `rbd` that give an image sectors of this size, before it is opened. */
export function sectorSizeArguments(image: string, size: SectorSize): string[] {
  return ["image-meta", "set", image, KEY, String(size)];
}

/** The arguments of `rbd` that take the size away again. */
export function noSectorSizeArguments(image: string): string[] {
  return ["image-meta", "remove", image, KEY];
}
