import { EngineError } from "../errors.ts";

const ID = /^[vs]-[a-z0-9-]{1,120}$/;

/** False: no image can have this id; it would leave the pool's folder, or be too long. */
export function isImageId(id: string): boolean {
  return ID.test(id);
}

/** Volumes are `v-...`, snapshots `s-...`. */
export function isSnapshotImage(id: string): boolean {
  return id.startsWith("s-");
}

/** Ids become file names, so nothing that could leave the folder gets through. */
export function checkImageId(id: string): string {
  if (isImageId(id)) return id;
  const shown = JSON.stringify(id.slice(0, 130));
  throw new EngineError("INVALID_ARGUMENT", `${shown} is not an image id: v- or s-, then a-z, 0-9 and -`);
}
