import { mkdir, open, readdir, readFile, rename, unlink } from "node:fs/promises";
import { join } from "node:path";
import { codeOf } from "./paths.ts";

/** How a volume is staged: what a second NodeStageVolume is compared with. */
export interface StageRecord {
  path: string;
  access: "block" | "mount";
  readOnly: boolean;
  /** Hash of all arguments that count. */
  arguments: string;
  /** We made the directory, so we take it away. */
  made: boolean;
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

/** What this node must remember of a volume that mountinfo cannot say. */
export interface NodeRecord {
  volumeId: string;
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

  constructor(stateDir: string) {
    this.#folder = join(stateDir, "node-volumes");
  }

  /** Undefined when the volume was never staged here. Volume ids are checked by the caller: they become file names. */
  async find(volumeId: string): Promise<NodeRecord | undefined> {
    try {
      return JSON.parse(await readFile(this.#file(volumeId), "utf8")) as NodeRecord;
    } catch (error) {
      if (codeOf(error) === "ENOENT") return undefined;
      throw error;
    }
  }

  async get(volumeId: string): Promise<NodeRecord> {
    return (await this.find(volumeId)) ?? { volumeId, published: {} };
  }

  /** Durable when it resolves. A record that says nothing is removed. */
  async put(record: NodeRecord): Promise<void> {
    const file = this.#file(record.volumeId);
    if (record.staged === undefined && Object.keys(record.published).length === 0) {
      await unlink(file).catch((error: unknown) => {
        if (codeOf(error) !== "ENOENT") throw error;
      });
      return;
    }
    await mkdir(this.#folder, { recursive: true, mode: 0o700 });
    const temporary = `${file}.new`;
    const handle = await open(temporary, "w", 0o600);
    try {
      await handle.writeFile(JSON.stringify(record));
      await handle.sync();
    } finally {
      await handle.close();
    }
    await rename(temporary, file);
    const folder = await open(this.#folder, "r");
    await folder.sync().finally(() => folder.close());
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
