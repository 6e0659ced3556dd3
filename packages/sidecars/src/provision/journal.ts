import { randomBytes } from "node:crypto";
import { setTimeout as sleep } from "node:timers/promises";
import {
  type ConfigMap,
  ConfigMaps,
  delay,
  failpoint,
  isAlreadyExists,
  isNotFound,
  keyOf,
  StatusError,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { Intent } from "../common/create-volume/intent.ts";
import { intentsOf, recordFor } from "../common/create-volume/record.ts";
import { deleteObject, objectKey } from "../kube/patch.ts";

/** An entry or more are out of the store: kills here leave the others. */
const entriesDropped = failpoint("sidecars/provision/entries-dropped");

/** While others are under way, a claim waits so long for company before its intent is recorded. */
const GATHER_MS = 100;
/** Settled entries of a record that has open ones too are dropped after that. */
const DROP_MS = 2_000;
/** A record stays far below the mebibyte that a ConfigMap may have. */
const MAX_BYTES = 400_000;
/** After a write whose outcome is unknown; twice as long after each, up to the second. */
const [AGAIN_MS, RARELY_MS] = [250, 10_000];

type JournalContext = Pick<SidecarContext, "cluster" | "driver" | "here" | "logger" | "namespace" | "store">;

/** Intents that are stored together. */
interface Batch {
  intents: Intent[];
  bytes: number;
  stored: Promise<void>;
}

/**
 * The records of CreateVolume calls whose outcome is open. Claims that come together share a record: it is written once
 * before their calls, and deleted when the last of them is settled (docs/decisions/0059-one-record-for-many-claims.md).
 */
export class Journal {
  readonly #context: JournalContext;
  /** Takes what comes, until its time is over. */
  #next: Batch | undefined;
  /** UIDs of claims whose entries are settled and still stored, by the key of their record. */
  readonly #settled = new Map<string, Set<string>>();
  readonly #dropping = new Map<string, Promise<void>>();
  /** Records whose settled entries have a time to go. */
  readonly #later = new Set<string>();
  /** Records that are being written. */
  #storing = 0;

  constructor(context: JournalContext) {
    this.#context = context;
  }

  /** UIDs of claims with an entry that is not settled. */
  open(): string[] {
    return this.#context.cluster.records.list().flatMap((record) => this.#openOf(record));
  }

  /** Those of them whose entry is in the record as it is now: what is settled or dropped needs no work on its claim. */
  openIn(record: ConfigMap): string[] {
    const now = this.#context.cluster.records.get(keyOf(record));
    return now === undefined ? [] : this.#openOf(now).filter((uid) => intentsOf(record).has(uid));
  }

  #openOf(record: ConfigMap): string[] {
    return [...intentsOf(record).keys()].filter((uid) => this.#isOpen(record, uid));
  }

  /** The open entry of a claim, read through the cluster that is given. */
  find({ records }: SidecarContext["cluster"], uid: string): Intent | undefined {
    const found = records.byIndex("uid", uid).filter((record) => this.#isOpen(record, uid));
    // Two processes that both believe to lead may have recorded it: both have asked for the same name.
    const [record] = found.sort((a, b) => (a.metadata.name < b.metadata.name ? -1 : 1));
    return record && intentsOf(record).get(uid);
  }

  /** Whether another node's process has asked its driver for the claim's volume, and has not settled that. */
  isOpenElsewhere({ records }: SidecarContext["cluster"], uid: string): boolean {
    if (this.#context.here === undefined) return false;
    return records.byIndex("uid", uid).some((record) => !this.#isOurs(record, uid));
  }

  /** Resolves when the intent is stored. From then on the volume may exist. */
  async record(intent: Intent): Promise<void> {
    // What is stored of an attempt that is over must not be taken for this one by another life.
    for (const record of this.#context.cluster.records.byIndex("uid", intent.claim.uid))
      await this.#drop(keyOf(record));
    const bytes = JSON.stringify(intent).length;
    if (this.#next !== undefined && this.#next.bytes + bytes > MAX_BYTES) this.#next = undefined;
    this.#next ??= this.#begin();
    this.#next.intents.push(intent);
    this.#next.bytes += bytes;
    return this.#next.stored;
  }

  /** The outcome is known, and has left no volume without an object. The entry goes together with others. */
  settle(uid: string): void {
    const { records } = this.#context.cluster;
    for (const record of records.byIndex("uid", uid).filter((each) => this.#isOurs(each, uid))) {
      const key = keyOf(record);
      const settled = this.#settled.get(key) ?? new Set();
      this.#settled.set(key, settled.add(uid));
      if (this.#hasOpen(record)) this.#dropLater(key);
      else this.#drop(key).catch((error: unknown) => this.#notDropped(key, error));
    }
  }

  /** Drops what is settled. */
  async flush(): Promise<void> {
    await Promise.all([...this.#settled.keys()].map((key) => this.#drop(key)));
  }

  #isOpen(record: ConfigMap, uid: string): boolean {
    return this.#isOurs(record, uid) && !this.#isSettled(record, uid);
  }

  /** One that works for its node takes up what was asked for there. */
  #isOurs(record: ConfigMap, uid: string): boolean {
    const { here } = this.#context;
    return here === undefined || intentsOf(record).get(uid)?.selectedNode === here.node;
  }

  #isSettled(record: ConfigMap, uid: string): boolean {
    return this.#settled.get(keyOf(record))?.has(uid) === true;
  }

  #hasOpen(record: ConfigMap): boolean {
    return [...intentsOf(record).keys()].some((uid) => !this.#isSettled(record, uid));
  }

  #begin(): Batch {
    const batch: Batch = { intents: [], bytes: 0, stored: Promise.resolve() };
    batch.stored = this.#store(batch);
    return batch;
  }

  async #store(batch: Batch): Promise<void> {
    const { cluster, driver, namespace } = this.#context;
    const isAlone = this.#storing === 0 && this.open().length === 0;
    this.#storing += 1;
    try {
      await delay(isAlone ? 0 : GATHER_MS, cluster.signal);
      if (this.#next === batch) this.#next = undefined;
      const suffix = randomBytes(6).toString("hex");
      const record = recordFor(batch.intents, { driver: driver.info.name, suffix, namespace });
      cluster.records.wrote(await this.#create(record));
    } finally {
      this.#storing -= 1;
    }
  }

  /**
   * A record whose write may still take effect is written until that is certain: it must not come to light when its
   * claims have another one.
   */
  async #create(record: ConfigMap): Promise<ConfigMap> {
    const { store, logger, cluster } = this.#context;
    for (let tries = 0; ; tries += 1) {
      try {
        return await store.create(ConfigMaps, record);
      } catch (error) {
        if (tries > 0 && isAlreadyExists(error)) return await store.get(ConfigMaps, objectKey(record));
        if (isRefusal(error)) throw error;
        logger.warn({ err: error, record: keyOf(record) }, "cannot record what volumes are to be made");
        await delay(Math.min(AGAIN_MS * 2 ** tries, RARELY_MS), cluster.signal);
      }
    }
  }

  /** One write at a time for each record. */
  async #drop(key: string): Promise<void> {
    const running = this.#dropping.get(key);
    if (running !== undefined) {
      await running.catch(() => {});
      return this.#drop(key);
    }
    if (!this.#settled.has(key)) return;
    const dropping = this.#dropNow(key).finally(() => this.#dropping.delete(key));
    this.#dropping.set(key, dropping);
    return dropping;
  }

  async #dropNow(key: string): Promise<void> {
    const { cluster, store } = this.#context;
    const record = cluster.records.get(key);
    const settled = [...(this.#settled.get(key) ?? [])];
    if (record !== undefined) {
      try {
        if (!this.#hasOpen(record)) await deleteObject(store, cluster.records, record);
        else {
          const body = {
            metadata: { uid: record.metadata.uid },
            data: Object.fromEntries(settled.map((uid) => [uid, null])),
          };
          cluster.records.wrote(await store.patch(ConfigMaps, objectKey(record), { type: "merge", body }));
        }
      } catch (error) {
        if (!isNotFound(error)) throw error;
        cluster.records.gone(record);
      }
      entriesDropped();
    }
    const left = this.#settled.get(key);
    for (const uid of settled) left?.delete(uid);
    if (left?.size === 0) this.#settled.delete(key);
    else this.#dropLater(key);
  }

  #dropLater(key: string): void {
    if (this.#later.has(key)) return;
    this.#later.add(key);
    sleep(DROP_MS, undefined, { ref: false })
      .then(() => {
        this.#later.delete(key);
        return this.#drop(key);
      })
      .catch((error: unknown) => this.#notDropped(key, error));
  }

  /** What is settled stays so: only another life would read it once more. */
  #notDropped(key: string, error: unknown): void {
    const { cluster, logger } = this.#context;
    if (cluster.signal.aborted) return;
    logger.warn({ err: error, record: key }, "cannot drop settled entries of a record");
    this.#dropLater(key);
  }
}

/** The server has said that it does not make the object. */
function isRefusal(error: unknown): boolean {
  return error instanceof StatusError && error.code >= 400 && error.code < 500 && error.code !== 429;
}
