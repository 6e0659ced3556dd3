import { CsiError } from "@mooring/csi";
import { sha256 } from "../names.ts";

/** Where an object is in a list: objects never move, so a token stays good whatever is added or deleted. */
export interface Position {
  createdAt: string;
  name: string;
}

export interface Page<T> {
  items: T[];
  /** Absent on the last page. */
  nextToken?: string;
}

/**
 * One page of a list in order of creation. A token says after which object to go on: it needs no memory here, so it
 * outlives a restart and the deletion of that very object. An unreadable token is ABORTED, as the specification asks.
 */
export function paginate<T>(
  all: readonly T[],
  position: (item: T) => Position,
  request: { maxEntries: number; startingToken: string },
): Page<T> {
  if (request.maxEntries < 0) throw CsiError.invalidArgument("max_entries must not be negative");
  const after = request.startingToken === "" ? undefined : decode(request.startingToken);
  const sorted = [...all].sort((a, b) => compare(position(a), position(b)));
  const rest = after === undefined ? sorted : sorted.filter((item) => compare(position(item), after) > 0);
  const limit = request.maxEntries === 0 ? rest.length : request.maxEntries;
  const items = rest.slice(0, limit);
  const last = items.at(-1);
  if (last === undefined || items.length === rest.length) return { items };
  return { items, nextToken: encode(position(last)) };
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
