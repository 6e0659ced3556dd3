import type { ObjectDatabase } from "./database.ts";
import type { Timeline } from "./timeline.ts";

interface Row {
  path: string;
  json: string;
}

/**
 * A collection as it was at one revision, read piece by piece while writes go on: what has changed since is undone
 * with the events' previous states. Works as long as the history reaches back to the revision; then Expired.
 */
export class Snapshot {
  readonly revision: number;
  readonly #collection: string;
  readonly #database: ObjectDatabase;
  readonly #timeline: Timeline;
  /** Objects that have changed since, as they were; undefined: there was none. */
  readonly #undo = new Map<string, string | undefined>();
  #seen: number;

  constructor(database: ObjectDatabase, timeline: Timeline, collection: string, revision: number) {
    this.revision = revision;
    this.#database = database;
    this.#timeline = timeline;
    this.#collection = collection;
    this.#seen = revision;
  }

  /** The next rows of `[start, end)` in order, and where to go on; `next` is undefined at the end. */
  read(start: string, end: string, limit: number): { rows: Row[]; next: string | undefined } {
    this.#catchUp();
    const scanned = this.#database.scan(start, end, limit);
    const last = scanned.at(-1)?.path;
    const reachedEnd = last === undefined || scanned.length < Math.min(limit, this.#database.scanSize);
    const next = reachedEnd ? undefined : `${last}\0`;
    if (this.#undo.size === 0) return { rows: scanned, next };
    return { rows: this.#undone(scanned, start, next ?? end), next };
  }

  #undone(scanned: Row[], start: string, end: string): Row[] {
    const rows = scanned.filter(({ path }) => !this.#undo.has(path));
    for (const [path, json] of this.#undo) {
      if (json !== undefined && path >= start && path < end) rows.push({ path, json });
    }
    return rows.sort((a, b) => (a.path < b.path ? -1 : 1));
  }

  #catchUp(): void {
    for (const event of this.#timeline.since(this.#collection, this.#seen)) {
      if (!this.#undo.has(event.path)) this.#undo.set(event.path, event.previous);
      this.#seen = event.revision;
    }
  }
}
