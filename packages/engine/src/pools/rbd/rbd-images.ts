import { join } from "node:path";
import { isImageFeature } from "../../api/image-features.ts";
import { EngineError } from "../../errors.ts";
import type { LoopDevices } from "../../host/host.ts";
import type { MakeOptions, ReplaceOptions } from "../backend.ts";
import { IMAGE_SUFFIX } from "../file-images.ts";
import type { Image } from "../image.ts";
import type { ImageStore } from "../image-store.ts";
import { ENOENT, type RbdCommands } from "./commands.ts";
import { featureArguments } from "./features.ts";
import type { ImageFiles } from "./image-files.ts";
import { requireUngrouped } from "./image-groups.ts";
import { idOfOld, idOfWhole, isNewOf, newName, oldName, wholeName } from "./names.ts";
import { NextRead } from "./next-read.ts";
import type { RbdCopies } from "./rbd-copies.ts";
import { type RbdEntry, type RbdInfo, readImages, readInfo, readList } from "./rbd-info.ts";
import { RbdTrash } from "./rbd-trash.ts";
import { readRequest, requestArguments } from "./request-of.ts";
import { readClients, readWatchers, shutOut } from "./shut-out.ts";

/** What images are kept with. */
export interface RbdImagesOptions {
  commands: RbdCommands;
  copies: RbdCopies;
  files: Pick<ImageFiles, "isOpen" | "resize" | "close">;
  loops: LoopDevices;
  maker: string;
  /** Absolute folder in which an image has a file while it is open here. */
  folder: string;
}

/**
 * Images of a Ceph pool, made under another name and renamed when they are whole. Removed ones go to Ceph's trash first, and
 * stay there for as long as copies of them need their data.
 */
export class RbdImages implements ImageStore {
  readonly #options: RbdImagesOptions;
  readonly #trash: RbdTrash;
  readonly #listing: NextRead<RbdEntry[]>;

  constructor(options: RbdImagesOptions) {
    this.#options = options;
    this.#trash = new RbdTrash(options.commands);
    this.#listing = new NextRead(() => readImages(options.commands));
  }

  /** Nothing is done later of what could not be done yet. */
  stop(): void {
    this.#trash.stop();
  }

  async sweep(): Promise<void> {
    const { commands, maker } = this.#options;
    const entries = await readList(commands);
    for (const { image, snapshot } of entries) {
      if (snapshot === undefined || !isNewOf(maker, snapshot)) continue;
      await commands.rbd(["snap", "rm", "--no-progress", `${image}@${snapshot}`], { allow: [ENOENT] });
    }
    const names = new Set(entries.map(({ image }) => image));
    for (const name of names) {
      if (isNewOf(maker, name)) await this.#trash.put(name);
      const id = idOfOld(name);
      if (id === undefined) continue;
      // Killed between the two renames of a replacement, or after them.
      if (names.has(wholeName(id))) await this.#trash.put(name);
      else await commands.rbd(["rename", name, wholeName(id)]);
    }
    await this.#trash.sweep(names);
  }

  async list(): Promise<Image[]> {
    const entries = await this.#listing.wait();
    const images = new Map<string, Image>();
    const add = (id: string | undefined, { size }: RbdEntry): void => {
      if (id !== undefined && !images.has(id)) images.set(id, this.#image(id, size));
    };
    for (const entry of entries) add(idOfWhole(entry.image), entry);
    for (const entry of entries) add(idOfOld(entry.image), entry);
    return [...images.values()];
  }

  async find(id: string): Promise<Image | undefined> {
    const info = await this.info(id);
    return info && this.#image(id, info.size);
  }

  async madeAt({ id }: Image): Promise<Date> {
    return (await this.present(id)).madeAt;
  }

  /** What Ceph has of it, under whichever of its names. */
  async info(id: string): Promise<RbdInfo | undefined> {
    const { commands } = this.#options;
    const whole = { name: wholeName(id) };
    // Between the first two reads the old one may have been replaced.
    return (
      (await readInfo(commands, whole)) ??
      (await readInfo(commands, { name: oldName(id) })) ??
      (await readInfo(commands, whole))
    );
  }

  async create(id: string, size: number, { signal, imageFeatures }: MakeOptions = {}): Promise<Image> {
    const { commands, maker } = this.#options;
    const name = newName(maker, id);
    return this.#orDiscard(name, async () => {
      const args = ["create", "--size", `${size}B`, ...featureArguments(imageFeatures), name];
      await commands.rbd(args, { signal });
      return this.#commit(name, id, size);
    });
  }

  async clone(source: Image, id: string, size: number, options: MakeOptions = {}): Promise<Image> {
    return this.#copy(source, id, { ...options, size, commit: (name) => this.#commit(name, id, size) });
  }

  async replace(
    source: Image,
    id: string,
    size: number,
    { signal, request }: ReplaceOptions = {},
  ): Promise<Image> {
    const { commands } = this.#options;
    await this.#requireClosed(id);
    await requireUngrouped(commands, wholeName(id));
    const imageFeatures = (await this.info(id))?.features.filter(isImageFeature);
    return this.#copy(source, id, {
      ...{ size, signal, imageFeatures },
      commit: async (name) => {
        if (request !== undefined) await commands.rbd(requestArguments(name, request));
        const old = await this.info(id);
        if (old !== undefined && old.name !== oldName(id))
          await commands.rbd(["rename", old.name, oldName(id)]);
        const image = await this.#commit(name, id, size);
        if (old !== undefined) await this.#trash.put(oldName(id));
        return image;
      },
    });
  }

  async requestOf(id: string): Promise<string | undefined> {
    const info = await this.info(id);
    return info && readRequest(this.#options.commands, info);
  }

  async #copy(
    source: Image,
    id: string,
    { size, commit, ...options }: MakeOptions & { size: number; commit: (name: string) => Promise<Image> },
  ): Promise<Image> {
    const { copies } = this.#options;
    const from = await this.present(source.id);
    const taken = await copies.take(from, id);
    try {
      return await this.#orDiscard(taken.name, async () => commit(await copies.make(taken, size, options)));
    } finally {
      await copies.giveUp(taken);
    }
  }

  /** What Ceph has of it; throws NOT_FOUND when that is nothing. */
  async present(id: string): Promise<RbdInfo> {
    const info = await this.info(id);
    if (info === undefined) throw new EngineError("NOT_FOUND", `there is no image ${id}`);
    return info;
  }

  /** The rename is the commit: before it there is no image of the name, after it a whole one. */
  async #commit(name: string, id: string, size: number): Promise<Image> {
    await this.#options.commands.rbd(["rename", name, wholeName(id)]);
    return this.#image(id, size);
  }

  /** Gives a copy of a group its name. */
  commit(name: string, id: string, size: number): Promise<Image> {
    return this.#commit(name, id, size);
  }

  async grow(image: Image, size: number): Promise<Image> {
    const { files, copies } = this.#options;
    // Who has it open learns of it only if he does it himself.
    if (await files.isOpen(image.path)) await files.resize(image.path, size);
    else await copies.resize((await this.present(image.id)).name, size);
    const { size: now } = await this.present(image.id);
    if (now >= size) return { ...image, size: now };
    throw new EngineError("UNAVAILABLE", `image ${image.id} has ${now} bytes after it was to have ${size}`);
  }

  /**
   * Whoever else has it open writes nothing into it from now on, whatever he still has under way. `known`: one who has stood still for
   * longer than the cluster waits, and has written nothing since he opened it, is nobody whom the cluster knows of.
   */
  async renew({ id }: Image, known: readonly string[] = []): Promise<void> {
    const { commands } = this.#options;
    const { name } = await this.present(id);
    const { addresses, locks } = await readClients(commands, name);
    await shutOut(commands, name, { addresses: [...new Set([...known, ...addresses])], locks });
  }

  async remove(id: string): Promise<void> {
    await this.#requireClosed(id);
    const { commands } = this.#options;
    await requireUngrouped(commands, wholeName(id));
    const info = await this.info(id);
    // While it is there under its name the removal is tried again.
    if (info !== undefined && (await readWatchers(commands, info.name)).length > 0)
      throw stillOpen(info.name);
    for (const name of [oldName(id), wholeName(id)]) await this.#trash.put(name);
  }

  /** Failed work takes its image along; `sweep` finds what is left when that fails as well. */
  async #orDiscard<T>(name: string, work: () => Promise<T>): Promise<T> {
    try {
      return await work();
    } catch (error) {
      await this.#trash.put(name).catch(() => {});
      throw error;
    }
  }

  /** Removes what a copy of a group has made. */
  discard(name: string): Promise<void> {
    return this.#trash.put(name);
  }

  async #requireClosed(id: string): Promise<void> {
    const { loops, files } = this.#options;
    const path = this.#path(id);
    const device = await loops.find(path);
    if (device !== undefined)
      throw new EngineError("FAILED_PRECONDITION", `image ${id} is attached as ${device.path}`);
    await files.close(path);
  }

  #image(id: string, size: number): Image {
    return { id, size, path: this.#path(id) };
  }

  #path(id: string): string {
    return join(this.#options.folder, `${id}${IMAGE_SUFFIX}`);
  }
}

function stillOpen(name: string): EngineError {
  return new EngineError("UNAVAILABLE", `image ${name} is still open somewhere`, {
    hint: "a client that was killed counts for half a minute: rbd status shows whose it is",
  });
}
