import { badRequest, tooLarge } from "../object/errors.ts";
import { StatusError } from "../object/status-error.ts";
import type { ListOptions } from "../object-store.ts";
import { nextSlice, sliceLasts } from "../runtime/slices.ts";
import type { ObjectDatabase, Scan } from "./database.ts";
import type { Selection } from "./selection.ts";
import { Snapshot } from "./snapshot.ts";
import type { Timeline } from "./timeline.ts";

/** A piece of a list has so many objects at most, and ends with the one that makes it larger than so many characters. */
const PIECE_OBJECTS = 256;
const PIECE_CHARACTERS = 262_144;

/** What comes behind the items of a page: how to get the next one, and how many are left. */
export interface JsonListEnd {
  continue?: string;
  remainingItemCount?: number;
}

/** A list as it comes out of the store: JSON objects, unparsed. */
export interface JsonList {
  /** The revision that the list is a picture of. */
  resourceVersion: string;
  /** Pieces of the list, in order; the generator's return value is how it goes on. Read it to the end or `return()` it. */
  pages: AsyncGenerator<string[], JsonListEnd>;
}

interface ListSource {
  database: ObjectDatabase;
  timeline: Timeline;
}

/** Starts a list. Throws Expired, BadRequest or Timeout (a revision that does not exist yet). */
export function listJson(source: ListSource, selection: Selection, options: ListOptions): JsonList {
  const { revision, start } = startingPoint(source.timeline.revision, selection, options);
  const snapshot = new Snapshot(source.database, source.timeline, selection.collection, revision);
  // Throws here, not in the middle of a response, when the revision is too old.
  source.timeline.since(selection.collection, revision);
  return { resourceVersion: String(revision), pages: pages(source, { snapshot, selection }, start, options) };
}

async function* pages(
  source: ListSource,
  { snapshot, selection }: { snapshot: Snapshot; selection: Selection },
  start: string,
  options: ListOptions,
): AsyncGenerator<string[], JsonListEnd> {
  const limit = options.limit !== undefined && options.limit > 0 ? options.limit : Number.POSITIVE_INFINITY;
  let left = limit;
  let from: string | undefined = start;
  const piece = new Piece();
  while (from !== undefined) {
    options.signal?.throwIfAborted();
    while (!sliceLasts()) await nextSlice();
    const batch: Scan = snapshot.read(from, selection.end, 64);
    from = batch.next;
    for (const { path, json } of batch.rows) {
      if (piece.full || !sliceLasts()) {
        yield* piece.take();
        while (!sliceLasts()) await nextSlice();
      }
      if (!selection.matches(json)) continue;
      if (left === 0) {
        // `path` is the first of the next page.
        yield* piece.take();
        return endOfPage(source, snapshot, selection, path);
      }
      left -= 1;
      piece.add(selection.present(json));
    }
  }
  yield* piece.take();
  return {};
}

/** What goes together. */
class Piece {
  #objects: string[] = [];
  #characters = 0;

  get full(): boolean {
    return this.#objects.length >= PIECE_OBJECTS || this.#characters >= PIECE_CHARACTERS;
  }

  add(json: string): void {
    this.#objects.push(json);
    this.#characters += json.length;
  }

  /** One array, or none where there is nothing. */
  take(): string[][] {
    const taken = this.#objects;
    this.#objects = [];
    this.#characters = 0;
    return taken.length > 0 ? [taken] : [];
  }
}

function endOfPage(source: ListSource, snapshot: Snapshot, selection: Selection, next: string): JsonListEnd {
  const token = JSON.stringify({ v: 1, rv: snapshot.revision, start: next.slice(selection.start.length) });
  const end: JsonListEnd = { continue: Buffer.from(token).toString("base64url") };
  if (selection.everything) end.remainingItemCount = source.database.count(next, selection.end);
  return end;
}

function startingPoint(
  current: number,
  selection: Selection,
  options: ListOptions,
): { revision: number; start: string } {
  if (options.continue) {
    const token = parseContinue(options.continue);
    if (token.rv > current) throw tooLarge(token.rv, current);
    return { revision: token.rv, start: selection.start + token.start };
  }
  const wanted = parseRevision(options.resourceVersion);
  if (wanted !== undefined && wanted > current) throw tooLarge(wanted, current);
  const exact = options.resourceVersionMatch === "Exact" && wanted !== undefined && wanted > 0;
  return { revision: exact ? wanted : current, start: selection.start };
}

/** Of a namespace and a name, in bytes: the database looks for no key that is much longer. */
const LONGEST_START = 600;

function parseContinue(token: string): { rv: number; start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<
      string,
      unknown
    >;
    const ours = v === 1 && typeof rv === "number" && typeof start === "string";
    if (ours && Buffer.byteLength(start) <= LONGEST_START) return { rv, start };
  } catch {
    // Refused below: whatever is wrong with it, it is not ours.
  }
  throw badRequest("continue key is not valid");
}

/** Undefined when the client does not care. Throws Invalid, as the real server does. */
export function parseRevision(revision: string | undefined): number | undefined {
  if (revision === undefined || revision === "") return undefined;
  if (!/^\d{1,15}$/.test(revision)) {
    const message = `Invalid value: ${JSON.stringify(revision)}: must be a decimal number`;
    throw new StatusError("Invalid", `resourceVersion: ${message}`, {
      causes: [{ reason: "FieldValueInvalid", message, field: "resourceVersion" }],
    });
  }
  return Number(revision);
}
