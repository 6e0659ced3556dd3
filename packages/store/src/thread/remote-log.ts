import { randomUUID } from "node:crypto";
import type { Change, WriteLog } from "../local/write-log.ts";
import { conflict } from "../object/errors.ts";
import { defineResource } from "../object/resource.ts";
import type { Link } from "./link.ts";

/** So often a write is decided anew; then another client writes the same object without end. */
const MOST_ATTEMPTS = 50;

/** What was decided was founded on something that has changed. */
class Outdated extends Error {
  readonly change: Change;
  constructor(change: Change) {
    super("the object has been modified");
    this.change = change;
  }
}

/** What a {@link RemoteLog} needs to know of the kinds. */
export interface Kinds {
  /** How many of their changes this thread has learnt of. */
  epoch(): number;
  /** The kind has rules about many objects, which are asked where the objects are. */
  hasAdmission(change: Change): boolean;
}

/** The log of a store in another thread: that one refuses what was founded on something that is no longer so. */
export class RemoteLog implements WriteLog {
  readonly #link: Link;
  readonly #kinds: Kinds;
  /** Stands for the revision. No client that sends an object knows it. */
  readonly #mark: string = randomUUID();
  #attempt = 0;
  #epoch = 0;

  constructor(link: Link, kinds: Kinds) {
    this.#link = link;
    this.#kinds = kinds;
  }

  latest(path: string): string | undefined {
    return this.#link.atOnce({ do: "latest", attempt: this.#attempt, path }) as string | undefined;
  }

  async attempt<T>(write: () => Promise<T>): Promise<T> {
    for (let left = MOST_ATTEMPTS; ; left -= 1) {
      this.#attempt += 1;
      // A decision is made in one turn, in which no other begins.
      this.#epoch = this.#kinds.epoch();
      const attempt = this.#attempt;
      try {
        return await write();
      } catch (error) {
        if (!(error instanceof Outdated)) throw error;
        const { resource, object } = error.change;
        if (left === 0) throw conflict(resource, object.metadata.name);
      } finally {
        this.#link.note({ do: "forget", attempt });
      }
    }
  }

  async commit(change: Change, { patient = false }: { patient?: boolean }): Promise<string> {
    const [before, after] = this.#parts(change);
    const revision = await this.#write(change, [before, after], { patient, dryRun: false });
    return before + revision + after;
  }

  async rehearse(change: Change): Promise<void> {
    if (!this.#kinds.hasAdmission(change)) return;
    await this.#write(change, this.#parts(change), { patient: false, dryRun: true });
  }

  async settled(): Promise<void> {
    await this.#link.call({ do: "settled" });
  }

  #parts({ object }: Change): [string, string] {
    const { metadata } = object;
    const json = JSON.stringify({ ...object, metadata: { ...metadata, resourceVersion: this.#mark } });
    const at = json.indexOf(this.#mark);
    return [json.slice(0, at), json.slice(at + this.#mark.length)];
  }

  async #write(
    change: Change,
    json: readonly [string, string],
    options: { patient: boolean; dryRun: boolean },
  ): Promise<string> {
    const { type, path } = change;
    const decided = { type, resource: defineResource(change.resource), path, json, ...options };
    const request = { do: "write", attempt: this.#attempt, epoch: this.#epoch, decided } as const;
    const revision = await this.#link.call(request);
    if (revision === undefined) throw new Outdated(change);
    return String(revision);
  }
}
