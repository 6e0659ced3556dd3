import { mkdir, readdir, readFile, rename, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { syncFolder } from "@mooring/store";

/** A driver that this node has taken. */
export interface RegisteredDriver {
  /** As it calls itself. */
  name: string;
  /** The socket that it was read from; undefined: by an earlier process, and not yet again. */
  identity?: string;
}

/**
 * The drivers that were taken, by the file names of their registration sockets; on disk as well, so that one whose socket
 * goes while nothing runs here is taken off its node by the next start.
 */
export class DriverRecords {
  readonly #folder: string;
  readonly #drivers: Map<string, RegisteredDriver>;

  private constructor(folder: string, drivers: Map<string, RegisteredDriver>) {
    this.#folder = folder;
    this.#drivers = drivers;
  }

  static async open(folder: string): Promise<DriverRecords> {
    await mkdir(folder, { recursive: true, mode: 0o750 });
    const drivers = new Map<string, RegisteredDriver>();
    for (const socket of await readdir(folder)) {
      const name = await readFile(join(folder, socket), "utf8");
      // Killed before it was renamed: nothing was done yet.
      if (socket.startsWith(".")) await rm(join(folder, socket));
      else drivers.set(socket, { name });
    }
    return new DriverRecords(folder, drivers);
  }

  get(socket: string): RegisteredDriver | undefined {
    return this.#drivers.get(socket);
  }

  sockets(): Iterable<string> {
    return this.#drivers.keys();
  }

  /** The socket by which a driver of that name was taken. */
  socketOf(name: string): string | undefined {
    return [...this.#drivers].find(([, driver]) => driver.name === name)?.[0];
  }

  /** Resolves when it is on disk: before anything of it is in the cluster. */
  async put(socket: string, driver: Required<RegisteredDriver>): Promise<void> {
    const temporary = join(this.#folder, `.${socket}`);
    await writeFile(temporary, driver.name, { flush: true });
    await rename(temporary, join(this.#folder, socket));
    await syncFolder(this.#folder);
    this.#drivers.set(socket, driver);
  }

  /** After everything of it has gone from the cluster. */
  async remove(socket: string): Promise<void> {
    await rm(join(this.#folder, socket), { force: true });
    this.#drivers.delete(socket);
  }
}
