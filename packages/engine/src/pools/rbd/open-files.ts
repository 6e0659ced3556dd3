import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { absent, IMAGE_SUFFIX } from "../file-images.ts";
import type { RbdCommands } from "./commands.ts";
import { ExportedFiles } from "./exports.ts";
import type { ImageFiles } from "./image-files.ts";
import { kernelFeatures, kernelWay } from "./kernel-rbd.ts";
import { MappedFiles } from "./mapped-files.ts";
import type { RbdPlace } from "./place.ts";
import type { RbdInfo } from "./rbd-info.ts";

/**
 * By the kernel's own client where there is one, else by a process for each image. What the other way has opened stays as it is: a
 * kernel may have got its module since.
 */
export class OpenFiles implements Omit<ImageFiles, "open"> {
  readonly #host: Host;
  readonly #mapped: MappedFiles;
  readonly #exported: ExportedFiles;
  #kernel: Promise<number | undefined> | undefined;

  constructor(host: Host, place: RbdPlace, commands: RbdCommands) {
    this.#host = host;
    this.#mapped = new MappedFiles(host, place, commands);
    this.#exported = new ExportedFiles(host, place, () => commands.conf);
  }

  async isOpen(path: string): Promise<boolean> {
    return (await this.#host.mounts.at(path)).length > 0;
  }

  /** Throws FAILED_PRECONDITION where nothing on this node can open an image with its features. */
  async open({ name, features }: Pick<RbdInfo, "name" | "features">, path: string): Promise<void> {
    this.#kernel ??= kernelFeatures(this.#host.exec);
    const { usable, why } = kernelWay(await this.#kernel, features);
    // What has no device here any more is opened anew: its client may have been shut out of the cluster since.
    if ((await this.isOpen(path)) && (await this.#host.loops.find(path)) === undefined)
      await this.close(path);
    const best = usable ? this.#mapped : this.#exported;
    const way = (await this.isOpen(path)) ? await this.#of(path) : best;
    await way.open(name, path).catch((error: unknown) => {
      if (way === this.#mapped || !(error instanceof EngineError) || error.code !== "FAILED_PRECONDITION")
        throw error;
      throw noWay(name, why, error);
    });
  }

  async resize(path: string, size: number): Promise<void> {
    await (await this.#of(path)).resize(path, size);
  }

  async client(path: string): Promise<string | undefined> {
    return (await this.#of(path)).client(path);
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

/** Neither the kernel opens it here, nor is there a program that does. */
function noWay(name: string, why: string, cause: EngineError): EngineError {
  const message = `image ${name} cannot be opened on this node: ${why}, and ${cause.message}`;
  return new EngineError("FAILED_PRECONDITION", message, {
    hint: "modprobe rbd; else, where Mooring runs in no pod: apt-get install qemu-system-common qemu-block-extra",
    cause,
  });
}
