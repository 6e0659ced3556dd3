import type { UnstructuredObject } from "../object/meta.ts";
import { groupResource, type Resource } from "../object/resource.ts";
import type { ResourceRegistry } from "./registry.ts";
import type { Timeline } from "./timeline.ts";

/** A write that another thread has decided. */
export interface DecidedWrite {
  type: "ADDED" | "MODIFIED" | "DELETED";
  resource: Resource;
  path: string;
  /** The object as JSON, in two parts: between them comes its revision. */
  json: readonly [before: string, after: string];
  /** Everything but the write. */
  dryRun: boolean;
  patient: boolean;
}

/** What a decision was founded on: what was at each path, undefined for nothing. */
export type Foundation = ReadonlyMap<string, string | undefined>;

/** Takes in what was decided elsewhere, if it was founded on what is still so. */
export class DecidedWrites {
  readonly #timeline: Timeline;
  readonly #registry: ResourceRegistry;

  constructor(timeline: Timeline, registry: ResourceRegistry) {
    this.#timeline = timeline;
    this.#registry = registry;
  }

  /**
   * Resolves with the revision when it is on disk; with undefined where something has changed, once that can be read. Throws
   * what the kind's rules about many objects refuse. Costs no more than reading the object, and that only where there are
   * such rules.
   */
  async write(decided: DecidedWrite, founded: Foundation): Promise<string | undefined> {
    const { type, resource, path, patient, dryRun } = decided;
    const [before, after] = decided.json;
    for (const [at, json] of founded) {
      if (this.#timeline.latest(at) === json) continue;
      await this.#timeline.settled();
      return undefined;
    }
    const previous = this.#timeline.latest(path);
    if (type !== "DELETED") this.#admit(resource, before + after, previous);
    if (dryRun) return "";
    const revision = this.#timeline.nextRevision();
    const json = before + revision + after;
    const collection = groupResource(resource);
    await this.#timeline.write({ revision, type, collection, path, json, previous }, { patient });
    return String(revision);
  }

  #admit(resource: Resource, json: string, previous: string | undefined): void {
    const admit = this.#registry.get(resource).strategy?.admit;
    if (admit === undefined) return;
    const object = (text: string) => JSON.parse(text) as UnstructuredObject;
    admit(object(json), previous === undefined ? undefined : object(previous), this.#timeline.collect);
  }
}
