import type { ObjectDatabase, Scan } from "./database.ts";
import type { Timeline } from "./timeline.ts";

type Row = Scan["rows"][number];

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
  read(start: string, end: string, limit: number): Scan {
    this.#catchUp();
    const { rows, next } = this.#database.scan(start, end, limit);
    if (this.#undo.size === 0) return { rows, next };
    return { rows: this.#undone(rows, start, next ?? end), next };
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
