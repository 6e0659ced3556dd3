import {
  getIfAny,
  isAlreadyExists,
  isStatus,
  type KubeObject,
  type ObjectKey,
  type ObjectStore,
  type Resource,
} from "@mooring/store";

/** So many are remembered at least, those of earlier lives as well: a restore may be from a copy of then. */
const MOST_REMEMBERED = 2_000;

/** Where an object has what was last written to it. */
export const WRITTEN = "kill-loop/written";

/** What is known of an object: what was written last, or `undefined` when it is deleted. */
export type Written = string | undefined;

interface Version {
  written: Written;
  /** Of the response; undefined where it is not known which revision made it so. */
  revision: number | undefined;
}

interface Entry {
  resource: Resource;
  key: ObjectKey;
  /** What it was, oldest first; the last one is what has to be there now. */
  history: Version[];
  /** Sent, and without a response: each may have been done. */
  unanswered: Written[];
}

/**
 * What the API server has acknowledged, kept outside of the process that is killed. An object has one writer at a time, so
 * what has to be there is the last that was acknowledged, or one of those sent after it without a response.
 */
export class Ledger {
  readonly #entries = new Map<string, Entry>();
  acknowledged = { created: 0, patched: 0, deleted: 0 };

  /** What is there for certain; "unknown" while a response is missing. */
  state(resource: Resource, key: ObjectKey): "present" | "absent" | "unknown" {
    const entry = this.#entries.get(nameOf(resource, key));
    if (entry === undefined) return "absent";
    if (entry.unanswered.length > 0) return "unknown";
    return entry.history.at(-1)?.written === undefined ? "absent" : "present";
  }

  async create<T extends KubeObject>(store: ObjectStore, resource: Resource<T>, object: T): Promise<void> {
    const { namespace, name } = object.metadata;
    const entry = this.#entry(resource, namespace === undefined ? { name } : { namespace, name });
    const written = `${entry.history.length}-${entry.unanswered.length}`;
    const annotations = { ...object.metadata.annotations, [WRITTEN]: written };
    const made = { ...object, metadata: { ...object.metadata, annotations } };
    try {
      await acknowledge(entry, written, () => store.create(resource, made));
    } catch (error) {
      // One whose deletion got no response may still be going.
      const present = isAlreadyExists(error) ? await getIfAny(store, resource, entry.key) : made;
      if (present !== undefined && writtenIn(present) !== undefined) throw error;
      return;
    }
    this.acknowledged.created += 1;
  }

  async patch(store: ObjectStore, resource: Resource, key: ObjectKey, body: object = {}): Promise<void> {
    const entry = this.#entry(resource, key);
    const written = `${entry.history.length}-${entry.unanswered.length}`;
    const merged = { ...body, metadata: { annotations: { [WRITTEN]: written } } };
    await acknowledge(entry, written, () => store.patch(resource, key, { type: "merge", body: merged }));
    this.acknowledged.patched += 1;
  }

  async delete(store: ObjectStore, resource: Resource, key: ObjectKey): Promise<void> {
    await acknowledge(this.#entry(resource, key), undefined, () => store.delete(resource, key));
    this.acknowledged.deleted += 1;
  }

  /**
   * Compares all with what is there; what became of requests without a response is known from then on. The result is what
   * is wrong.
   */
  async settle(store: ObjectStore): Promise<string[]> {
    const wrong: string[] = [];
    const found = await this.#found(store);
    for (const [name, entry] of this.#entries) {
      const written = writtenIn(found.get(name));
      const last = entry.history.at(-1)?.written;
      if (written === last) {
        entry.unanswered = [];
        continue;
      }
      if (entry.unanswered.includes(written)) entry.history.push({ written, revision: undefined });
      else wrong.push(`${name} is ${written ?? "gone"}: ${last ?? "its deletion"} was acknowledged`);
      entry.unanswered = [];
    }
    if (this.#entries.size > MOST_REMEMBERED) this.#forgetOld();
    return wrong;
  }

  /**
   * The store was put back to a revision: what was acknowledged after it is not to be there any more. The result is what
   * is wrong, and which objects have lost something that way.
   */
  async rewind(store: ObjectStore, revision: number): Promise<{ wrong: string[]; changed: ObjectKey[] }> {
    const wrong: string[] = [];
    const changed: ObjectKey[] = [];
    const found = await this.#found(store);
    for (const [name, entry] of this.#entries) {
      const written = writtenIn(found.get(name));
      const allowed = allowedAt(entry, revision);
      if (!allowed.includes(written))
        wrong.push(`${name} is ${written ?? "gone"}: at revision ${revision} it was ${allowed.join(" or ")}`);
      if (written !== entry.history.at(-1)?.written) changed.push(entry.key);
      // What it was before stays known: the next restore may be from an older copy.
      entry.history = [...entry.history.slice(0, firstAfter(entry, revision)), { written, revision }];
      entry.unanswered = [];
    }
    return { wrong, changed };
  }

  /** Whether it is remembered: not those that were gone for good in an older round. */
  knows(resource: Resource, key: ObjectKey): boolean {
    return this.#entries.has(nameOf(resource, key));
  }

  /** All that are there, or may be. */
  present(resource: Resource): ObjectKey[] {
    return [...this.#entries.values()]
      .filter((entry) => entry.resource === resource && this.state(resource, entry.key) !== "absent")
      .map(({ key }) => key);
  }

  /** What is there of each kind, in one request: thousands of objects are asked for in every life. */
  async #found(store: ObjectStore): Promise<Map<string, KubeObject>> {
    const kinds = new Set([...this.#entries.values()].map(({ resource }) => resource));
    const found = new Map<string, KubeObject>();
    for (const resource of kinds)
      for (const object of (await store.list(resource)).items)
        found.set(nameOf(resource, object.metadata), object);
    return found;
  }

  /** Objects that are gone for certain need not be remembered for good; an old copy that brings one back is cleared of it. */
  #forgetOld(): void {
    for (const [name, { history, unanswered }] of this.#entries)
      if (history.length > 1 && unanswered.length === 0 && history.at(-1)?.written === undefined)
        this.#entries.delete(name);
  }

  #entry(resource: Resource, key: ObjectKey): Entry {
    const name = nameOf(resource, key);
    const present = this.#entries.get(name);
    if (present !== undefined) return present;
    const history = [{ written: undefined, revision: 0 }];
    const entry: Entry = { resource, key, history, unanswered: [] };
    this.#entries.set(name, entry);
    return entry;
  }
}

/** What may be seen of it after a restore to a revision. Where that of a change is not known, it may be there or not. */
function allowedAt(entry: Entry, revision: number): Written[] {
  const after = firstAfter(entry, revision);
  const allowed: Written[] = [];
  for (const version of entry.history.slice(0, after)) {
    if (version.revision === undefined) allowed.push(version.written);
    else allowed.splice(0, allowed.length, version.written);
  }
  return after < entry.history.length ? allowed : [...allowed, ...entry.unanswered];
}

/** Where the versions begin that are certainly younger than a revision. */
function firstAfter({ history }: Entry, revision: number): number {
  const index = history.findIndex((version) => version.revision !== undefined && version.revision > revision);
  return index === -1 ? history.length : index;
}

async function acknowledge(
  entry: Entry,
  written: Written,
  send: () => Promise<KubeObject | undefined>,
): Promise<void> {
  entry.unanswered.push(written);
  const response = await send().catch((error: unknown) => {
    // A refusal is a response: nothing was done.
    if (!isStatus(error, "ServiceUnavailable", "Timeout")) entry.unanswered.pop();
    throw error;
  });
  // The revision of a deletion is not in its response.
  const revision = written === undefined ? undefined : Number(response?.metadata.resourceVersion);
  entry.history.push({ written, revision });
  entry.unanswered = [];
}

function writtenIn(object: KubeObject | undefined): Written {
  if (object === undefined || object.metadata.deletionTimestamp !== undefined) return undefined;
  return object.metadata.annotations?.[WRITTEN] ?? "nothing";
}

function nameOf(
  resource: Resource,
  { namespace, name }: Pick<KubeObject["metadata"], "name" | "namespace">,
): string {
  return `${resource.kind} ${namespace === undefined ? "" : `${namespace}/`}${name}`;
}
