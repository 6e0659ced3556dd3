import { defined, type Logger } from "@mooring/store";
import { type ContainerFiles, type ContainerRecord, writeRecord } from "./container-files.ts";
import type { ContainerStatus } from "./runtime.ts";

/** What is known of one container, here and in its file. */
export class SavedRecord {
  #record: ContainerRecord;
  #written: Promise<void> = Promise.resolve();
  readonly #files: ContainerFiles;
  readonly #logger: Logger;
  readonly #changed: () => void;

  constructor(record: ContainerRecord, files: ContainerFiles, logger: Logger, changed: () => void) {
    this.#record = record;
    this.#files = files;
    this.#logger = logger;
    this.#changed = changed;
  }

  get now(): ContainerRecord {
    return this.#record;
  }

  /** The change is known here, and is in the file with the next one that is saved. */
  keep(change: Partial<ContainerRecord>): void {
    this.#record = { ...this.#record, ...change };
  }

  /**
   * On disk where that takes it, and then seen. A full one keeps no container from its end: what a life after this one has to
   * know of it is in the record from before its start, and in the files of its monitor.
   */
  async save(change: Partial<ContainerRecord>): Promise<void> {
    this.keep(change);
    await this.#write().catch((error: unknown) => this.#warn(error));
    this.#changed();
  }

  /** Seen at once, and on disk soon. */
  noteStart(startedAt: string): void {
    this.keep({ startedAt });
    this.#write().catch((error: unknown) => this.#warn(error));
    this.#changed();
  }

  /** No write is under way any more. */
  async settled(): Promise<void> {
    await this.#written.catch(() => {});
  }

  status(): ContainerStatus {
    const { id, pod, name, attempt, createdAt, startedAt, exit, init, imageRoot, imageID } = this.#record;
    const running = startedAt === undefined ? "created" : "running";
    return {
      id,
      pod,
      name,
      attempt,
      createdAt,
      state: exit === undefined ? running : "exited",
      ...defined({ startedAt, imageRoot, imageID, pid: init?.pid, exit }),
    };
  }

  #warn(error: unknown): void {
    this.#logger.warn(
      { container: this.#record.id, err: error },
      "cannot record yet what has become of a container",
    );
  }

  /** As it is then; one after the other, as they share a file. */
  #write(): Promise<void> {
    this.#written = this.#written.catch(() => {}).then(() => writeRecord(this.#files, this.#record));
    return this.#written;
  }
}
