import { setImmediate as nextTurn } from "node:timers/promises";
import { badRequest, tooLarge } from "../object/errors.ts";
import { StatusError } from "../object/status-error.ts";
import type { ListOptions } from "../object-store.ts";
import type { ObjectDatabase } from "./database.ts";
import type { Selection } from "./selection.ts";
import { Snapshot } from "./snapshot.ts";
import type { Timeline } from "./timeline.ts";

/** After so many milliseconds or objects, whichever is first, a list lets others run. */
const SLICE_MS = 8;
const SLICE_OBJECTS = 256;

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
  while (from !== undefined) {
    options.signal?.throwIfAborted();
    const deadline = performance.now() + SLICE_MS;
    const page: string[] = [];
    while (from !== undefined && page.length < SLICE_OBJECTS && performance.now() < deadline) {
      const batch: { rows: { path: string; json: string }[]; next: string | undefined } = snapshot.read(
        from,
        selection.end,
        64,
      );
      from = batch.next;
      for (const { path, json } of batch.rows) {
        if (!selection.matches(json)) continue;
        if (left === 0) {
          // `path` is the first of the next page.
          if (page.length > 0) yield page;
          return endOfPage(source, snapshot, selection, path);
        }
        left -= 1;
        page.push(selection.present(json));
      }
    }
    if (page.length > 0) yield page;
    if (from !== undefined) await nextTurn();
  }
  return {};
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

function parseContinue(token: string): { rv: number; start: string } {
  try {
    const { v, rv, start } = JSON.parse(Buffer.from(token, "base64url").toString()) as Record<
      string,
      unknown
    >;
    if (v === 1 && typeof rv === "number" && typeof start === "string") return { rv, start };
  } catch {
    // Answered below: whatever is wrong with it, it is not ours.
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
