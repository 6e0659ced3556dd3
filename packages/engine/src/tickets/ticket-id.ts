import { createHash } from "node:crypto";
import type { AttacherType } from "../api/attachment.ts";

/** Ticket id of an operator who named none. */
export const OPERATOR_TICKET = "longhorn-ui";

/** What a key of an object map may have at most, as names have. */
const LONGEST = 253;

/**
 * `snapshot-controller-s-1`: a job's ticket names its controller and the object that it is for. Where that gets too
 * long the end is a hash, so that two names with the same beginning stay two tickets.
 */
export function ticketIdFor(type: AttacherType, name: string): string {
  const id = `${type}-${name}`;
  if (id.length <= LONGEST) return id;
  const hash = createHash("sha256").update(name).digest("hex").slice(0, 32);
  return `${id.slice(0, LONGEST - hash.length - 1)}-${hash}`;
}
