import { randomUUID } from "node:crypto";
import { isImageId } from "../image-id.ts";

/** Other programs may have images in the same pool: these are ours. */
const WHOLE = "mooring.";
/** An image that another one is about to replace. */
const OLD = "mooring-old.";
/** Work in progress, of images and of snapshots. */
const NEW = "mooring-new.";
/** What was removed: on its way into Ceph's trash, and there. */
const GONE = "mooring-gone.";

/** Names of an image in the Ceph pool. */
export const wholeName = (id: string): string => `${WHOLE}${id}`;
/** While another image takes its place. */
export const oldName = (id: string): string => `${OLD}${id}`;

/** New each time. Only its maker removes what it has left half-made. */
export function newName(maker: string, id: string): string {
  return `${NEW}${maker}~${randomUUID().slice(0, 8)}.${id}`;
}

/** New each time: while copies need the data of one, another one of the same id may be made and removed. */
export function goneName(name: string): string {
  return `${GONE}${randomUUID().slice(0, 8)}.${name}`;
}

/** Was removed by us. */
export function isGone(name: string): boolean {
  return name.startsWith(GONE);
}

/** What this maker has begun. */
export function isNewOf(maker: string, name: string): boolean {
  return name.startsWith(`${NEW}${maker}~`);
}

/** The id of a whole image. */
export function idOfWhole(name: string): string | undefined {
  return idAfter(WHOLE, name);
}

/** The id of an image that is to be replaced. */
export function idOfOld(name: string): string | undefined {
  return idAfter(OLD, name);
}

function idAfter(prefix: string, name: string): string | undefined {
  const id = name.startsWith(prefix) ? name.slice(prefix.length) : "";
  return isImageId(id) ? id : undefined;
}
