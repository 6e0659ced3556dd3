import { constants } from "node:fs";
import { copyFile, lstat, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { defined, failpoint, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { LoopDevices } from "../host/host.ts";
import type { MakeOptions, ReplaceOptions } from "./backend.ts";
import { resizeFile, writeSparse } from "./durable.ts";
import { fileMadeAt } from "./file-made-at.ts";
import type { Image } from "./image.ts";
import {
  type ImageStore,
  notRegular,
  orRemove,
  TEMPORARY,
  temporaryName,
  unlessDamaged,
} from "./image-store.ts";
import { markRequest, REQUEST_SUFFIX, readRequest, unmarkRequest } from "./request-mark.ts";
import type { ThickFiles } from "./thick-files.ts";
import { isThick, markThick, THICK_SUFFIX, unmarkThick } from "./thick-mark.ts";

/** Ending of the file of an image that is whole. */
export const IMAGE_SUFFIX = ".img";
const afterUnshared = failpoint("engine/pool/image-unshared");
const afterAllocated = failpoint("engine/pool/image-allocated");
const afterTemporary = failpoint("engine/pool/image-written");
const afterMark = failpoint("engine/pool/image-marked-thick");
const afterRename = failpoint("engine/pool/image-renamed");

/** One ioctl: atomic for the file, but a kill in the middle leaves a part of it in the new one. */
export async function reflink(source: Image, path: string): Promise<void> {
  const { COPYFILE_EXCL, COPYFILE_FICLONE_FORCE } = constants;
  await copyFile(source.path, path, COPYFILE_EXCL | COPYFILE_FICLONE_FORCE).catch((error: unknown) => {
    throw cannotClone(source, error);
  });
}

/** A file that is whole and on disk, and the image that it is to become. */
interface MadeFile {
  id: string;
  made: string;
  size: number;
  thick?: boolean | undefined;
}

/** A file that is to have no block that another image could need, or that is not there. */
interface OwnFile extends MadeFile {
  /** What it was reflinked from. */
  from?: Image;
}

/**
 * Gives a new file blocks of its own where it is thick, or was copied from a thick image: until then a write into that one
 * takes room as well. A kill in between leaves a temporary file, which is removed with the blocks that it shares.
 */
export async function ownBlocks(
  files: ThickFiles | undefined,
  { from, made, size, thick }: OwnFile,
  signal: AbortSignal | undefined,
): Promise<void> {
  if (files === undefined) return;
  if (from !== undefined && (from.thick || thick)) {
    await files.unshare(made, signal);
    afterUnshared();
  }
  if (!thick) return;
  await files.allocate(made, size, signal);
  afterAllocated();
}

/** The rename is the commit: before it there is no image, after it a whole one. */
export async function commitImages(folder: string, files: readonly MadeFile[]): Promise<Image[]> {
  afterTemporary();
  for (const { id, thick } of files) {
    if (!thick) continue;
    await markThick(folder, id);
    afterMark();
  }
  const images = files.map(({ id, size, thick }) => image(folder, { id, size, thick }));
  for (const [index, { made }] of files.entries()) {
    await rename(made, images[index]?.path ?? "");
    afterRename();
  }
  await syncFolder(folder);
  return images;
}

function image(
  folder: string,
  { id, size, thick }: { id: string; size: number; thick?: boolean | undefined },
): Image {
  return { id, size, path: join(folder, `${id}${IMAGE_SUFFIX}`), ...(thick ? { thick } : {}) };
}

/** What images are kept with. */
interface FileImagesOptions {
  loops: LoopDevices;
  /** Only what this one left half-made is removed. */
  maker?: string;
  /** Absent where there are no thick images. */
  thick?: ThickFiles | undefined;
}

/** Images as files `<id>.img`, sparse unless they are thick, cloned by reflink. */
export class FileImages implements ImageStore {
  readonly #folder: string;
  readonly #loops: LoopDevices;
  readonly #maker: string;
  readonly #thick: ThickFiles | undefined;

  constructor(folder: string, { loops, maker = "", thick }: FileImagesOptions) {
    this.#folder = folder;
    this.#loops = loops;
    this.#maker = maker;
    this.#thick = thick;
  }

  madeAt(image: Image): Promise<Date> {
    return fileMadeAt(image);
  }

  async find(id: string): Promise<Image | undefined> {
    const path = this.#pathOf(id);
    const info = await lstat(path).catch(absentOrFailing);
    if (info === "failing") {
      // Not even read, but its device can be closed: only then can the pool be mounted anew.
      const device = await this.#loops.find(path);
      if (device !== undefined) return image(this.#folder, { id, size: device.sizeBytes });
      throw new EngineError("UNAVAILABLE", `${path} cannot be read: its file system has failed`);
    }
    if (info === undefined) return undefined;
    if (!info.isFile()) throw notRegular(path, info);
    return image(this.#folder, { id, size: info.size, thick: isThick(this.#folder, id) });
  }

  async list(): Promise<Image[]> {
    const names = (await readdir(this.#folder)).filter((name) => /^[vs]-.*\.img$/.test(name));
    const found = names.map((name) => this.find(name.slice(0, -IMAGE_SUFFIX.length)).catch(unlessDamaged));
    const images = await Promise.all(found);
    return images.filter((image) => image !== undefined);
  }

  async sweep(): Promise<void> {
    const folder = this.#folder;
    const names = await readdir(folder);
    const leftovers = names.filter((name) => name.startsWith(`${TEMPORARY}${this.#maker}`));
    const unused = (suffix: string): string[] =>
      names
        .filter((name) => name.endsWith(suffix))
        .map((name) => name.slice(0, -suffix.length))
        .filter((id) => !names.includes(`${id}${IMAGE_SUFFIX}`));
    await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })));
    await Promise.all(unused(THICK_SUFFIX).map((id) => unmarkThick(folder, id)));
    await Promise.all(unused(REQUEST_SUFFIX).map((id) => unmarkRequest(folder, id)));
  }

  async create(id: string, size: number, { thick, signal }: MakeOptions = {}): Promise<Image> {
    const path = this.#temporary(id);
    return orRemove(path, async () => {
      await writeSparse(path, size);
      return this.#commit({ made: path, id, size, thick }, signal);
    });
  }

  async clone(source: Image, id: string, size: number, { thick, signal }: MakeOptions = {}): Promise<Image> {
    const path = this.#temporary(id);
    return orRemove(path, async () => {
      await reflink(source, path);
      await resizeFile(path, size);
      return this.#commit({ from: source, made: path, id, size, thick }, signal);
    });
  }

  /** The rename of the commit puts the new file in the old one's place. */
  async replace(
    source: Image,
    id: string,
    size: number,
    { signal, request }: ReplaceOptions = {},
  ): Promise<Image> {
    await this.#requireDetached(id);
    const next = await this.clone(source, id, size, defined({ signal, thick: isThick(this.#folder, id) }));
    if (request !== undefined) await markRequest(this.#folder, id, request);
    return next;
  }

  requestOf(id: string): Promise<string | undefined> {
    return readRequest(this.#folder, id);
  }

  async grow(image: Image, size: number): Promise<Image> {
    // Its size is the record of what is set aside: a kill in between leaves the old one, and more blocks.
    if (image.thick) await this.#thick?.allocate(image.path, size);
    await resizeFile(image.path, size);
    return { ...image, size };
  }

  /** The same rename. */
  async renew(image: Image): Promise<void> {
    await this.clone(image, image.id, image.size, defined({ thick: image.thick }));
  }

  async remove(id: string): Promise<void> {
    await this.#requireDetached(id);
    await unlink(this.#pathOf(id)).catch(absent);
    await unmarkThick(this.#folder, id);
    await unmarkRequest(this.#folder, id);
    await syncFolder(this.#folder);
  }

  #pathOf(id: string): string {
    return join(this.#folder, `${id}${IMAGE_SUFFIX}`);
  }

  #temporary(id: string): string {
    return join(this.#folder, temporaryName(id, this.#maker));
  }

  async #commit(file: OwnFile, signal: AbortSignal | undefined): Promise<Image> {
    await ownBlocks(this.#thick, file, signal);
    await commitImages(this.#folder, [file]);
    return image(this.#folder, file);
  }

  async #requireDetached(id: string): Promise<void> {
    const device = await this.#loops.find(this.#pathOf(id));
    if (device === undefined) return;
    throw new EngineError("FAILED_PRECONDITION", `image ${id} is attached as ${device.path}`);
  }
}

/** For `catch`: undefined for a file that is not there, and throws anything else. */
export function absent(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}

function absentOrFailing(error: unknown): undefined | "failing" {
  if (error instanceof Error && "code" in error && error.code === "EIO") return "failing";
  return absent(error);
}

function cannotClone(source: Image, cause: unknown): EngineError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOSPC")
    return new EngineError("RESOURCE_EXHAUSTED", `no space left to clone ${source.id}`, { cause });
  if (code === "ENOENT") return new EngineError("NOT_FOUND", `there is no image ${source.id}`, { cause });
  return new EngineError("INTERNAL", `cannot clone ${source.path}: ${String(cause)}`, { cause });
}
