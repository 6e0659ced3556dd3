import type { Pod } from "@mooring/store";
import { uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import type { KubeletPaths } from "../paths.ts";
import type { CsiVolume } from "./csi-volume.ts";
import type { Certainty } from "./decide.ts";
import { readPublications, readVolumeRecords, type VolumeRecord } from "./records.ts";

/** A pod's wish for a volume. */
interface Want {
  pod: Pod;
  readOnly: boolean;
}

/** What is known about one volume on this node. */
export interface CsiVolumeEntry {
  readonly record: VolumeRecord;
  staged: Certainty;
  /** By pod uid. */
  readonly publications: Map<string, Certainty>;
  /** By pod uid. */
  readonly wants: Map<string, Want>;
  /** By pod uid: when it was last published, in milliseconds of `performance.now()`. */
  readonly publishedAt: Map<string, number>;
  /** By pod uid: the driver has published it and mounted nothing, so that no mount of it can be lost. */
  readonly mountless: Set<string>;
}

/** It is made for one pod: never attached, staged or grown. */
export const isEphemeral = ({ record }: Pick<CsiVolumeEntry, "record">): boolean =>
  record.volumeLifecycleMode === "Ephemeral";

/** Every volume that is, may be, or shall be on this node, by its unique name. */
export class CsiVolumeTable {
  readonly #entries = new Map<string, CsiVolumeEntry>();
  /** Pods that have released their volumes. All others keep what is published for them, also while they have not asked for it again. */
  readonly #released = new Set<string>();
  readonly #emptied = new Set<() => void>();

  /** Everything on disk may or may not be as its record has it: it is done again, or undone, before it counts. */
  static async fromDisk(paths: KubeletPaths): Promise<CsiVolumeTable> {
    const table = new CsiVolumeTable();
    for (const record of await readVolumeRecords(paths)) table.#entryOf(record).staged = "maybe";
    for (const { podUID, ...record } of await readPublications(paths)) {
      table.#entryOf(record).publications.set(podUID, "maybe");
    }
    return table;
  }

  keys(): string[] {
    return [...this.#entries.keys()];
  }

  get(key: string): CsiVolumeEntry | undefined {
    return this.#entries.get(key);
  }

  /** True when the pod did not want it before. */
  want(pod: Pod, volume: CsiVolume): boolean {
    const uid = pod.metadata.uid ?? "";
    this.#released.delete(uid);
    const { wants } = this.#entryOf(recordOf(volume));
    const isNew = !wants.has(uid);
    wants.set(uid, { pod, readOnly: volume.readOnly });
    return isNew;
  }

  /** Releases the pod's volumes; returns the keys of those that are to be read. */
  release(podUID: string): string[] {
    const affected = [...this.#entries].filter(
      ([, { wants, publications }]) => wants.delete(podUID) || publications.has(podUID),
    );
    if (this.isUsing(podUID)) this.#released.add(podUID);
    return affected.map(([key]) => key);
  }

  hasReleased(podUID: string): boolean {
    return this.#released.has(podUID);
  }

  /** The pod wants a volume, or one may still be published for it. */
  isUsing(podUID: string): boolean {
    return [...this.#entries.values()].some(
      ({ publications, wants }) => publications.has(podUID) || wants.has(podUID),
    );
  }

  /** The pod wants a volume that is still to be attached, or staged. */
  isStaging(podUID: string): boolean {
    return [...this.#entries.values()].some(({ staged, wants }) => staged === "no" && wants.has(podUID));
  }

  unpublished(entry: CsiVolumeEntry, podUID: string): void {
    entry.publications.delete(podUID);
    entry.publishedAt.delete(podUID);
    entry.mountless.delete(podUID);
    if (!this.isUsing(podUID)) this.#released.delete(podUID);
  }

  publishedPods(): string[] {
    return [...new Set([...this.#entries.values()].flatMap(({ publications }) => [...publications.keys()]))];
  }

  /** Drops a volume of which nothing is left and that no pod wants. */
  forget(key: string): void {
    const entry = this.#entries.get(key);
    if (entry === undefined || entry.staged !== "no") return;
    if (entry.wants.size + entry.publications.size > 0) return;
    this.#entries.delete(key);
    this.checkEmpty();
  }

  /** Keys of what is there of one driver. */
  keysOf(driver: string): string[] {
    return [...this.#entries].filter(([, { record }]) => record.driverName === driver).map(([key]) => key);
  }

  /**
   * Resolves when there is no volume left but those that `counts` does not count: what cannot be taken away now, as its
   * driver is gone. Returns the keys of these.
   */
  empty(signal: AbortSignal, counts: (entry: CsiVolumeEntry) => boolean): Promise<string[]> {
    return new Promise((resolve, reject) => {
      const check = (): void => {
        if (![...this.#entries.values()].some(counts)) resolve(this.keys());
      };
      this.#emptied.add(check);
      signal.addEventListener("abort", () => reject(signal.reason), { once: true });
      check();
    });
  }

  /** What counts may be another now. */
  checkEmpty(): void {
    for (const check of this.#emptied) check();
  }

  #entryOf(record: VolumeRecord): CsiVolumeEntry {
    const key = uniqueVolumeName(record.driverName, record.volumeHandle);
    const known = this.#entries.get(key);
    if (known !== undefined) return known;
    const entry: CsiVolumeEntry = {
      ...{ record, staged: "no", wants: new Map() },
      ...{ publications: new Map(), publishedAt: new Map(), mountless: new Set() },
    };
    this.#entries.set(key, entry);
    return entry;
  }
}

function recordOf({ driver, ephemeral, handle, volume, block }: CsiVolume): VolumeRecord {
  const volumeMode = block ? "Block" : "Filesystem";
  const volumeLifecycleMode = ephemeral ? "Ephemeral" : "Persistent";
  return { driverName: driver, volumeHandle: handle, specVolID: volume, volumeMode, volumeLifecycleMode };
}
