import { mkdir, readdir, readFile, unlink } from "node:fs/promises";
import { join } from "node:path";
import type { Volume } from "@mooring/engine";
import { defined, isDiskFull, KeyedLock, replaceFile, syncFolder, unlessReadOnly } from "@mooring/store";
import { codeOf } from "../errors.ts";
import { parseRecord, unlessDamaged } from "./damaged-record.ts";

/** How a volume is staged: what a second NodeStageVolume is compared with. */
export interface StageRecord {
  path: string;
  access: "block" | "mount";
  readOnly: boolean;
  /** Hash of all arguments that count. */
  arguments: string;
  /** We made the directory, so we take it away. */
  made: boolean;
  /** We have unmounted it ourselves, to let the volume be repaired. */
  released?: true;
}

/** How a volume is published at one target path. */
export interface PublishRecord {
  access: "block" | "mount";
  readOnly: boolean;
  /** The access mode allows other target paths besides this one. */
  multiTarget: boolean;
  arguments: string;
  made: boolean;
}

/** What this node must remember of a volume that mountinfo does not show. */
export interface NodeRecord {
  volumeId: string;
  /** Names become ids, so a later volume may have the same id: what is known of the earlier one is void then. */
  volumeUID?: string;
  staged?: StageRecord;
  /** By target path. */
  published: Record<string, PublishRecord>;
}

/**
 * One small file per staged volume. It is written before anything is mounted, so that after a kill every mount of ours
 * has a record; what is really mounted is always asked of mountinfo.
 */
export class NodeRecords {
  readonly #folder: string;
  /** Between the read of what is known of a volume and its removal, no call may write something new. */
  readonly #writing = new KeyedLock();

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "node-volumes");
  }

  /** Undefined when the volume was never staged here; throws a DamagedRecord. Volume ids are checked by the caller: they become file names. */
  async find(volumeId: string): Promise<NodeRecord | undefined> {
    const file = this.#file(volumeId);
    try {
      return parseRecord<NodeRecord>(file, await readFile(file, "utf8"));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  /** As `find`, but nothing of an earlier volume that had the id of this one. */
  async findOf({ metadata: { name, uid } }: Volume): Promise<NodeRecord | undefined> {
    const record = await this.find(name);
    return record?.volumeUID === undefined || record.volumeUID === uid ? record : undefined;
  }

  /** What is known of the volume, to add to it. */
  async of(volume: Volume): Promise<NodeRecord> {
    const { name, uid } = volume.metadata;
    const blank: NodeRecord = {
      volumeId: name,
      ...defined({ volumeUID: uid }),
      published: {},
    };
    return (await this.findOf(volume)) ?? blank;
  }

  /** Durable when it resolves. A record with nothing in it is removed. */
  async put(record: NodeRecord): Promise<void> {
    const empty = record.staged === undefined && Object.keys(record.published).length === 0;
    await this.#writing.run(record.volumeId, () =>
      empty ? this.#remove(record.volumeId) : this.#write(record),
    );
  }

  /**
   * As `put`, of a record with less in it. A full disk keeps nobody from undoing what a record is about, also where it takes
   * nothing in place of the record (btrfs): then it is `atLeast` that is put, or it says more than is mounted for a while.
   */
  async lessen(record: NodeRecord, atLeast?: NodeRecord): Promise<void> {
    try {
      await this.put(record);
    } catch (error) {
      if (!isDiskFull(error)) return unlessReadOnly(error);
      if (atLeast !== undefined) await this.put(atLeast);
    }
  }

  /** Removes the record and hands it back, unless it is still good by `keep`. */
  async forget(
    volumeId: string,
    keep: (record: NodeRecord) => Promise<boolean>,
  ): Promise<NodeRecord | undefined> {
    return this.#writing.run(volumeId, async () => {
      const blank: NodeRecord = { volumeId, published: {} };
      const record = await this.find(volumeId).catch(unlessDamaged(blank));
      if (record === undefined || (await keep(record))) return undefined;
      await this.#remove(volumeId);
      return record;
    });
  }

  async #remove(volumeId: string): Promise<void> {
    await unlink(this.#file(volumeId)).catch((error: unknown) => {
      if (codeOf(error) !== "ENOENT") throw error;
    });
  }

  async #write(record: NodeRecord): Promise<void> {
    const file = this.#file(record.volumeId);
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    await replaceFile(file, JSON.stringify(record));
    await syncFolder(this.#folder);
  }

  /** Ids of all volumes with a record. */
  async list(): Promise<string[]> {
    try {
      const files = await readdir(this.#folder);
      return files.filter((name) => name.endsWith(".json")).map((name) => name.slice(0, -".json".length));
    } catch (error) {
      if (codeOf(error) === "ENOENT") return [];
      throw error;
    }
  }

  #file(volumeId: string): string {
    return join(this.#folder, `${volumeId}.json`);
  }
}
