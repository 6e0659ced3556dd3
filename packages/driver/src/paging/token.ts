import { CsiError } from "@mooring/csi";
import { sha256 } from "@mooring/store";

/** Where an object is in a list: objects never move, so a token stays good whatever is added or deleted. */
export interface Position {
  createdAt: string;
  name: string;
}

interface Page<T> {
  items: T[];
  /** Absent on the last page. */
  nextToken?: string;
}

/** The list in order of creation. */
export function inOrder<T>(all: readonly T[], position: (item: T) => Position): T[] {
  return [...all].sort((a, b) => compare(position(a), position(b)));
}

/**
 * One page of a list that is {@link inOrder}. A token names the object after which to go on: it needs no memory here, so it
 * outlives a restart and the deletion of that very object. An unreadable token is ABORTED, as the specification asks.
 */
export function paginate<T>(
  sorted: readonly T[],
  position: (item: T) => Position,
  request: { maxEntries: number; startingToken: string },
): Page<T> {
  if (request.maxEntries < 0) throw CsiError.invalidArgument("max_entries must not be negative");
  const after = request.startingToken === "" ? undefined : decode(request.startingToken);
  const first = after === undefined ? 0 : firstBeyond(sorted, position, after);
  const end = request.maxEntries === 0 ? sorted.length : first + request.maxEntries;
  const items = sorted.slice(first, end);
  const last = items.at(-1);
  if (last === undefined || end >= sorted.length) return { items };
  return { items, nextToken: encode(position(last)) };
}

/** Index of the first item beyond a position, which no item may have any more. */
function firstBeyond<T>(sorted: readonly T[], position: (item: T) => Position, after: Position): number {
  let low = 0;
  let high = sorted.length;
  while (low < high) {
    const middle = (low + high) >> 1;
    const item = sorted[middle];
    if (item !== undefined && compare(position(item), after) > 0) high = middle;
    else low = middle + 1;
  }
  return low;
}

function compare(a: Position, b: Position): number {
  if (a.createdAt !== b.createdAt) return a.createdAt < b.createdAt ? -1 : 1;
  return a.name < b.name ? -1 : Number(a.name > b.name);
}

function encode({ createdAt, name }: Position): string {
  const text = `${createdAt} ${name}`;
  return Buffer.from(`${sha256(text).slice(0, 8)} ${text}`).toString("base64url");
}

function decode(token: string): Position {
  const [, createdAt, name, ...more] = Buffer.from(token, "base64url").toString("utf8").split(" ");
  const read = createdAt !== undefined && name !== undefined && more.length === 0;
  // Base64 forgives much; a token of ours is exactly what we would write for its position.
  if (!read || encode({ createdAt, name }) !== token) {
    throw CsiError.aborted("starting_token is not one that this driver gave out", {
      hint: "Start the list again with an empty starting_token.",
    });
  }
  return { createdAt, name };
}
