import { mkdir, rm, writeFile } from "node:fs/promises";
import { dirname } from "node:path";
import { EngineError } from "../../errors.ts";
import type { Host } from "../../host/host.ts";
import { EBUSY, ENOENT, type RbdCommands } from "./commands.ts";
import type { ImageFiles } from "./image-files.ts";
import { clientOf, deviceShown, type Mapping, mapOptions, readMapping, readMappings } from "./kernel-rbd.ts";
import { idOfOld, idOfWhole } from "./names.ts";
import type { RbdPlace } from "./place.ts";
import { readInfo } from "./rbd-info.ts";

const MAP_MS = 30_000;
const UNMAP_MS = 15_000;
/** Whoever had the device open closes it at once, or keeps it. */
const BUSY_MS = 10_000;
const RESIZE_MS = 20_000;
const POLL_MS = 20;

/**
 * Images as devices of the kernel's own client, each bound to the image's path: so a loop device of it is found by its path like
 * any other. Keys reach the kernel from `rbd`, which reads them from their file.
 */
export class MappedFiles implements ImageFiles {
  readonly #host: Host;
  readonly #place: RbdPlace;
  readonly #commands: RbdCommands;

  constructor(host: Host, place: RbdPlace, commands: RbdCommands) {
    this.#host = host;
    this.#place = place;
    this.#commands = commands;
  }

  async isOpen(path: string): Promise<boolean> {
    return (await this.#shown(path)) !== undefined;
  }

  async open(name: string, path: string): Promise<void> {
    const shown = await this.#shown(path);
    if (shown !== undefined) {
      if (this.#mapping(shown)?.name === name) return;
      // It was unmapped by somebody, and its number may be another image's by now.
      await this.#host.mounts.unmount(path);
    }
    await this.#unmapUnbound((mapping) => mapping.name === name);
    await mkdir(dirname(path), { recursive: true, mode: 0o700 });
    await writeFile(path, "", { mode: 0o600 });
    const args = ["device", "map", "--device-type", "krbd", "--options", mapOptions(), name];
    const { stdout } = await this.#commands.rbd(args, { limit: MAP_MS });
    const device = /^\/dev\/rbd\d+$/m.exec(stdout)?.[0];
    if (device === undefined)
      throw new EngineError("UNAVAILABLE", `rbd device map ${name} printed ${stdout.trim()}`);
    await this.#host.mounts.bind(device, path, { readOnly: false });
  }

  async resize(path: string, size: number): Promise<void> {
    const shown = await this.#shown(path);
    const mapping = shown && this.#mapping(shown);
    if (mapping === undefined) throw new EngineError("UNAVAILABLE", `no device is shown at ${path}`);
    if (mapping.size >= size) return;
    const { name, id } = mapping;
    const info = await readInfo(this.#commands, { name });
    if (info !== undefined && info.size < size)
      await this.#commands.rbd(["resize", "--no-progress", "--size", `${size}B`, name]);
    // The cluster notifies the kernel.
    const { clock } = this.#host;
    for (const deadline = clock.sinceBoot() + RESIZE_MS; (readMapping(id)?.size ?? 0) < size; ) {
      if (clock.sinceBoot() > deadline)
        throw new EngineError("UNAVAILABLE", `/dev/rbd${id} does not take up its image's new size`);
      await clock.sleep(POLL_MS);
    }
  }

  async client(path: string): Promise<string | undefined> {
    const shown = await this.#shown(path);
    return shown && this.#mapping(shown) && clientOf(shown.id);
  }

  /** Unmapped first: while that is refused, it is open. */
  async close(path: string): Promise<void> {
    const shown = await this.#shown(path);
    if (shown === undefined) return;
    const mapping = this.#mapping(shown);
    if (mapping !== undefined) await this.#unmap(mapping, BUSY_MS);
    await this.#host.mounts.unmount(path);
    await rm(path, { force: true });
  }

  /** Those that a killed process has mapped, and not bound yet. */
  closeUnbound(): Promise<void> {
    return this.#unmapUnbound(({ name }) => (idOfWhole(name) ?? idOfOld(name)) !== undefined);
  }

  async #shown(path: string) {
    const top = (await this.#host.mounts.at(path)).at(-1);
    return top && deviceShown(top);
  }

  /** Undefined when the device is gone, also if its number is in use again. */
  #mapping({ id, gone }: { id: string; gone: boolean }): Mapping | undefined {
    const mapping = gone ? undefined : readMapping(id);
    return mapping !== undefined && this.#isOurs(mapping) ? mapping : undefined;
  }

  #isOurs({ pool, namespace }: Mapping): boolean {
    return pool === this.#place.pool && namespace === (this.#place.namespace ?? "");
  }

  /** One that is in use, by whomever, stays. */
  async #unmapUnbound(isWanted: (mapping: Mapping) => boolean): Promise<void> {
    const found = readMappings().filter((mapping) => this.#isOurs(mapping) && isWanted(mapping));
    if (found.length === 0) return;
    const bound = new Set((await this.#host.mounts.list()).map((entry) => deviceShown(entry)?.id));
    for (const mapping of found.filter(({ id }) => !bound.has(id)))
      await this.#unmap(mapping, 0).catch((error: unknown) => {
        if (!(error instanceof EngineError) || error.code !== "FAILED_PRECONDITION") throw error;
      });
  }

  /** Of one that is in use it is tried again for so many milliseconds. */
  async #unmap({ id, name }: Mapping, patience: number): Promise<void> {
    const { clock } = this.#host;
    const args = ["device", "unmap", "--options", "noudev", `/dev/rbd${id}`];
    for (const deadline = clock.sinceBoot() + patience; ; ) {
      const { exitCode } = await this.#commands.rbd(args, { limit: UNMAP_MS, allow: [EBUSY, ENOENT] });
      if (exitCode !== EBUSY) return;
      if (clock.sinceBoot() >= deadline)
        throw new EngineError("FAILED_PRECONDITION", `/dev/rbd${id} of image ${name} is in use`, {
          hint: `stop what has it open: fuser -v /dev/rbd${id}`,
        });
      await clock.sleep(POLL_MS);
    }
  }
}
