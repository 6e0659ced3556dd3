import { randomUUID } from "node:crypto";
import { lstat, mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import { defined, failpoint, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { removeTree } from "../host/remove-tree.ts";
import type { MakeOptions, ReplaceOptions } from "./backend.ts";
import { absent } from "./file-images.ts";
import { fileMadeAt } from "./file-made-at.ts";
import { folderUsers } from "./folder-users.ts";
import type { Image } from "./image.ts";
import {
  GOING,
  type ImageStore,
  NEXT,
  notRegular,
  orRemove,
  TEMPORARY,
  temporaryName,
  unlessDamaged,
} from "./image-store.ts";

const afterTemporary = failpoint("engine/pool/folder-written");
const afterNext = failpoint("engine/pool/folder-next");
const afterGoing = failpoint("engine/pool/folder-renamed-away");

/** In an image's folder: which request has put it in the place of another. */
const REQUEST = "request";

/**
 * Images as folders: `<id>/data` is what a workload sees, `<id>/size` remembers the size that was asked for (nothing
 * enforces it). Clones are reflinks where the file system has them, else copies.
 */
export class FolderImages implements ImageStore {
  readonly #folder: string;
  readonly #host: Host;

  constructor(folder: string, host: Host) {
    this.#folder = folder;
    this.#host = host;
  }

  madeAt(image: Image): Promise<Date> {
    return fileMadeAt(image);
  }

  async find(id: string): Promise<Image | undefined> {
    const path = this.#pathOf(id);
    const file = join(path, "size");
    const info = await lstat(file).catch(absentFile);
    if (info === undefined) return undefined;
    if (!info.isFile()) throw notRegular(file, info);
    const size = await readFile(file, "utf8").catch(absentFile);
    if (size === undefined) return undefined;
    if (!/^\d+\n$/.test(size)) throw new EngineError("DATA_LOSS", `${path}/size is damaged`);
    return { id, path: join(path, "data"), size: Number(size) };
  }

  async list(): Promise<Image[]> {
    const names = (await readdir(this.#folder)).filter((name) => /^[vs]-/.test(name));
    const images = await Promise.all(names.map((name) => this.find(name).catch(unlessDamaged)));
    return images.filter((image) => image !== undefined);
  }

  async sweep(): Promise<void> {
    const folder = this.#folder;
    const names = await readdir(folder);
    // Killed between the two renames of a replacement: the new folder is whole, and the old one is out of the way.
    for (const next of names.filter((name) => name.startsWith(NEXT))) {
      const id = next.slice(NEXT.length);
      if (names.includes(id)) await removeTree(this.#host, join(folder, next));
      else await rename(join(folder, next), this.#pathOf(id));
    }
    const leftovers = names.filter((name) => name.startsWith(TEMPORARY) || name.startsWith(GOING));
    await Promise.all(leftovers.map((name) => removeTree(this.#host, join(folder, name))));
  }

  create(id: string, size: number): Promise<Image> {
    return this.#make(id, size, async () => {});
  }

  clone(source: Image, id: string, size: number, { signal }: MakeOptions = {}): Promise<Image> {
    return this.#make(id, size, (data) => copyFolder(this.#host, source, data, signal));
  }

  async replace(
    source: Image,
    id: string,
    size: number,
    { signal, request }: ReplaceOptions = {},
  ): Promise<Image> {
    await this.#requireUnused(id);
    const next = join(this.#folder, `${NEXT}${id}`);
    await removeTree(this.#host, next);
    const fill = async (data: string): Promise<void> => {
      await copyFolder(this.#host, source, data, signal);
      if (request !== undefined) await writeFile(join(dirname(data), REQUEST), request);
    };
    await this.#make(id, size, fill, next);
    afterNext();
    const going = await this.#renameAway(id);
    await rename(next, this.#pathOf(id));
    await syncFolder(this.#folder);
    // Last: it takes long where there is much in it.
    await removeTree(this.#host, going);
    return { id, path: join(this.#pathOf(id), "data"), size };
  }

  async requestOf(id: string): Promise<string | undefined> {
    return readFile(join(this.#pathOf(id), REQUEST), "utf8").catch(() => undefined);
  }

  async grow(image: Image, size: number): Promise<Image> {
    await writeSize(this.#pathOf(image.id), size);
    return { ...image, size };
  }

  async renew({ id }: Image): Promise<void> {
    throw new EngineError("FAILED_PRECONDITION", `folder ${id} is not an image that several nodes have`);
  }

  async remove(id: string): Promise<void> {
    await this.#requireUnused(id);
    await removeTree(this.#host, await this.#renameAway(id));
    await syncFolder(this.#folder);
  }

  #pathOf(id: string): string {
    return join(this.#folder, id);
  }

  async #requireUnused(id: string): Promise<void> {
    const users = folderUsers(await this.#host.mounts.list(), this.#pathOf(id));
    if (users.length === 0) return;
    throw new EngineError("FAILED_PRECONDITION", `folder ${id} is mounted at ${users.join(", ")}`);
  }

  /** Out of the way, for `removeTree`. */
  async #renameAway(id: string): Promise<string> {
    const going = join(this.#folder, `${GOING}${id}-${randomUUID().slice(0, 8)}`);
    await rename(this.#pathOf(id), going).catch(absent);
    afterGoing();
    return going;
  }

  /** The rename is the commit: before it there is no image, after it a whole one. */
  #make(
    id: string,
    size: number,
    fill: (data: string) => Promise<unknown>,
    target = this.#pathOf(id),
  ): Promise<Image> {
    const made = join(this.#folder, temporaryName(id));
    return orRemove(made, async () => {
      const data = join(made, "data");
      await mkdir(data, { recursive: true, mode: 0o777 });
      await writeSize(made, size);
      await fill(data);
      await this.#host.exec.run("sync", ["--file-system", made]);
      afterTemporary();
      await rename(made, target);
      await syncFolder(this.#folder);
      return { id, path: join(this.#pathOf(id), "data"), size };
    });
  }
}

function copyFolder(
  host: Host,
  source: Image,
  data: string,
  signal: AbortSignal | undefined,
): Promise<unknown> {
  const args = ["--archive", "--reflink=auto", "--sparse=auto", `${source.path}/.`, data];
  return host.exec.run("cp", args, defined({ signal }));
}

/** Replaced whole, so that a kill leaves the old number or the new one. */
async function writeSize(image: string, size: number): Promise<void> {
  const temporary = join(image, "size.new");
  await writeFile(temporary, `${size}\n`, { flush: true });
  await rename(temporary, join(image, "size"));
  await syncFolder(image);
}

function absentFile(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOTDIR") return undefined;
  return absent(error);
}
