import { Events, type ObjectStore, type PersistentVolumeClaim } from "@mooring/store";

/** The reason of the events by which provisioners of all drivers report why a claim has no volume yet. */
const REASON = "ProvisioningFailed";

/** Milliseconds before a provisioner that has made no volume is asked why, and between two such reads. */
export const TROUBLES_READ_MS = 5_000;

/**
 * Why claims have no volume yet: the newest message of their provisioner, which is nowhere but in events. A restore
 * that gets its volumes in time costs no read.
 */
export class Troubles {
  readonly #store: ObjectStore;
  readonly #now: () => number;
  readonly #known = new Map<string, { at: number; troubles: ReadonlyMap<string, string> }>();

  /** `now`: milliseconds. */
  constructor(store: ObjectStore, now: () => number) {
    this.#store = store;
    this.#now = now;
  }

  /** By the name of the claim. `uid`: of the restore that has made them. */
  async of(uid: string, claims: readonly PersistentVolumeClaim[]): Promise<ReadonlyMap<string, string>> {
    const waiting = claims.filter(({ status }) => status?.phase !== "Bound");
    if (waiting.length === 0) return NONE;
    const at = this.#now();
    const known = this.#known.get(uid);
    if (known !== undefined && at - known.at < TROUBLES_READ_MS) return known.troubles;
    const troubles = known === undefined ? NONE : await newest(this.#store, waiting);
    this.#known.set(uid, { at, troubles });
    return troubles;
  }

  forget(uid: string): void {
    this.#known.delete(uid);
  }
}

const NONE: ReadonlyMap<string, string> = new Map();

async function newest(
  store: ObjectStore,
  claims: readonly PersistentVolumeClaim[],
): Promise<Map<string, string>> {
  const names = new Map(claims.map(({ metadata }) => [metadata.uid, metadata.name]));
  const namespace = claims[0]?.metadata.namespace ?? "";
  const { items } = await store.list(Events, { namespace, fieldSelector: `reason=${REASON}` });
  const inTime = items.map((event) => ({ event, at: String(event.lastTimestamp ?? "") }));
  inTime.sort((a, b) => a.at.localeCompare(b.at));
  const troubles = new Map<string, string>();
  for (const { event } of inTime) {
    const name = names.get(event.involvedObject.uid);
    if (name !== undefined && event.message !== undefined) troubles.set(name, event.message);
  }
  return troubles;
}
