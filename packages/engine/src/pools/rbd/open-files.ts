import { readdir } from "node:fs/promises";
import { join } from "node:path";
import type { Host } from "../../host/host.ts";
import { absent, IMAGE_SUFFIX } from "../file-images.ts";
import type { RbdCommands } from "./commands.ts";
import { ExportedFiles } from "./exports.ts";
import type { ImageFiles } from "./image-files.ts";
import { kernelRbd } from "./kernel-rbd.ts";
import { MappedFiles } from "./mapped-files.ts";
import type { RbdPlace } from "./place.ts";

/**
 * By the kernel's own client where there is one, else by a process for each image. What the other way has opened stays as it is: a
 * kernel may have got its module since.
 */
export class OpenFiles implements ImageFiles {
  readonly #host: Host;
  readonly #mapped: MappedFiles;
  readonly #exported: ExportedFiles;
  #best: Promise<ImageFiles> | undefined;

  constructor(host: Host, place: RbdPlace, commands: RbdCommands) {
    this.#host = host;
    this.#mapped = new MappedFiles(host, place, commands);
    this.#exported = new ExportedFiles(host, place, () => commands.conf);
  }

  async isOpen(path: string): Promise<boolean> {
    return (await this.#host.mounts.at(path)).length > 0;
  }

  async open(name: string, path: string): Promise<void> {
    this.#best ??= kernelRbd(this.#host.exec).then(({ usable }) => (usable ? this.#mapped : this.#exported));
    // What has no device here any more is opened anew: its client may have been shut out of the cluster since.
    if ((await this.isOpen(path)) && (await this.#host.loops.find(path)) === undefined)
      await this.close(path);
    const way = (await this.isOpen(path)) ? await this.#of(path) : await this.#best;
    await way.open(name, path);
  }

  async resize(path: string, size: number): Promise<void> {
    await (await this.#of(path)).resize(path, size);
  }

  async close(path: string): Promise<void> {
    await this.#mapped.close(path);
    await this.#exported.close(path);
  }

  async #of(path: string): Promise<ImageFiles> {
    return (await this.#mapped.isOpen(path)) ? this.#mapped : this.#exported;
  }

  /** Closes those below this folder that have no device, and what a killed process had begun to open. */
  async closeUnused(folder: string): Promise<void> {
    const used = new Set((await this.#host.loops.list(folder)).map(({ backingFile }) => backingFile));
    for (const name of (await readdir(folder).catch(absent)) ?? []) {
      const path = join(folder, name);
      if (name.endsWith(IMAGE_SUFFIX) && !used.has(path)) await this.close(path);
    }
    await this.#mapped.closeUnbound();
  }
}
