import { constants } from "node:fs";
import { copyFile, lstat, readdir, rename, rm, unlink } from "node:fs/promises";
import { join } from "node:path";
import { failpoint, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { LoopDevices } from "../host/host.ts";
import { resizeFile, writeSparse } from "./durable.ts";
import type { Image } from "./image.ts";
import { type ImageStore, orRemove, TEMPORARY, temporaryName } from "./image-store.ts";

/** Ending of the file of an image that is whole. */
export const IMAGE_SUFFIX = ".img";
const afterTemporary = failpoint("engine/pool/image-written");
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
}

/** The rename is the commit: before it there is no image, after it a whole one. */
export async function commitImages(folder: string, files: readonly MadeFile[]): Promise<Image[]> {
  afterTemporary();
  const images = files.map(({ id, size }) => ({ id, size, path: join(folder, `${id}${IMAGE_SUFFIX}`) }));
  for (const [index, { made }] of files.entries()) {
    await rename(made, images[index]?.path ?? "");
    afterRename();
  }
  await syncFolder(folder);
  return images;
}

/** Images as sparse files `<id>.img`, cloned by reflink. `maker`: only what this one left half-made is removed. */
export function fileImages(folder: string, loops: LoopDevices, maker = ""): ImageStore {
  const pathOf = (id: string): string => join(folder, `${id}${IMAGE_SUFFIX}`);
  const temporary = (id: string): string => join(folder, temporaryName(id, maker));

  const find = async (id: string): Promise<Image | undefined> => {
    const path = pathOf(id);
    const info = await lstat(path).catch(absent);
    if (info === undefined) return undefined;
    if (!info.isFile()) throw new EngineError("DATA_LOSS", `${path} is not a regular file`);
    return { id, path, size: info.size };
  };

  const commit = async (made: string, id: string, size: number): Promise<Image> => {
    await commitImages(folder, [{ id, made, size }]);
    return { id, path: pathOf(id), size };
  };

  const requireDetached = async (id: string): Promise<void> => {
    const device = await loops.find(pathOf(id));
    if (device === undefined) return;
    throw new EngineError("FAILED_PRECONDITION", `image ${id} is attached as ${device.path}`);
  };

  const copy = async (source: Image, id: string, size: number): Promise<Image> => {
    const path = temporary(id);
    return orRemove(path, async () => {
      await reflink(source, path);
      await resizeFile(path, size);
      return commit(path, id, size);
    });
  };

  return {
    find,
    sweep: async () => {
      const names = await readdir(folder);
      const leftovers = names.filter((name) => name.startsWith(`${TEMPORARY}${maker}`));
      await Promise.all(leftovers.map((name) => rm(join(folder, name), { force: true })));
    },
    list: async () => {
      const names = (await readdir(folder)).filter((name) => /^[vs]-.*\.img$/.test(name));
      const images = await Promise.all(names.map((name) => find(name.slice(0, -IMAGE_SUFFIX.length))));
      return images.filter((image) => image !== undefined);
    },
    create: async (id, size) => {
      const path = temporary(id);
      return orRemove(path, async () => {
        await writeSparse(path, size);
        return commit(path, id, size);
      });
    },
    clone: copy,
    // The rename of the commit puts the new file in the old one's place.
    replace: async (source, id, size) => {
      await requireDetached(id);
      return copy(source, id, size);
    },
    grow: async (image, size) => {
      await resizeFile(image.path, size);
      return { ...image, size };
    },
    remove: async (id) => {
      await requireDetached(id);
      await unlink(pathOf(id)).catch(absent);
      await syncFolder(folder);
    },
  };
}

/** For `catch`: undefined for a file that is not there, and throws anything else. */
export function absent(error: unknown): undefined {
  if (error instanceof Error && "code" in error && error.code === "ENOENT") return undefined;
  throw error;
}

function cannotClone(source: Image, cause: unknown): EngineError {
  const code = cause instanceof Error && "code" in cause ? cause.code : undefined;
  if (code === "ENOSPC")
    return new EngineError("RESOURCE_EXHAUSTED", `no space left to clone ${source.id}`, { cause });
  if (code === "ENOENT") return new EngineError("NOT_FOUND", `there is no image ${source.id}`, { cause });
  return new EngineError("INTERNAL", `cannot clone ${source.path}: ${String(cause)}`, { cause });
}
