import { randomUUID } from "node:crypto";
import { mkdir, readdir, readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { defined, failpoint, syncFolder } from "@mooring/store";
import { EngineError } from "../errors.ts";
import type { Host } from "../host/host.ts";
import { removeTree } from "../host/remove-tree.ts";
import { absent } from "./file-images.ts";
import { fileMadeAt } from "./file-made-at.ts";
import { folderUsers } from "./folder-users.ts";
import type { Image } from "./image.ts";
import { GOING, type ImageStore, NEXT, orRemove, TEMPORARY, temporaryName } from "./image-store.ts";

const afterTemporary = failpoint("engine/pool/folder-written");
const afterNext = failpoint("engine/pool/folder-next");
const afterGoing = failpoint("engine/pool/folder-renamed-away");

/**
 * Images as folders: `<id>/data` is what a workload sees, `<id>/size` remembers the size that was asked for (nothing
 * enforces it). Clones are reflinks where the file system has them, else copies.
 */
export function folderImages(folder: string, host: Host): ImageStore {
  const pathOf = (id: string): string => join(folder, id);
  const temporary = (id: string): string => join(folder, temporaryName(id));

  const find = async (id: string): Promise<Image | undefined> => {
    const size = await readFile(join(pathOf(id), "size"), "utf8").catch(absentFile);
    if (size === undefined) return undefined;
    if (!/^\d+\n$/.test(size)) throw new EngineError("DATA_LOSS", `${pathOf(id)}/size is damaged`);
    return { id, path: join(pathOf(id), "data"), size: Number(size) };
  };

  const requireUnused = async (id: string): Promise<void> => {
    const users = folderUsers(await host.mounts.list(), pathOf(id));
    if (users.length === 0) return;
    throw new EngineError("FAILED_PRECONDITION", `folder ${id} is mounted at ${users.join(", ")}`);
  };

  /** Out of the way, for `removeTree`. */
  const renameAway = async (id: string): Promise<string> => {
    const going = join(folder, `${GOING}${id}-${randomUUID().slice(0, 8)}`);
    await rename(pathOf(id), going).catch(absent);
    afterGoing();
    return going;
  };

  /** The rename is the commit: before it there is no image, after it a whole one. */
  const make = async (
    id: string,
    size: number,
    fill: (data: string) => Promise<unknown>,
    target = pathOf(id),
  ): Promise<Image> => {
    const made = temporary(id);
    return orRemove(made, async () => {
      const data = join(made, "data");
      await mkdir(data, { recursive: true, mode: 0o777 });
      await writeSize(made, size);
      await fill(data);
      await host.exec.run("sync", ["--file-system", made]);
      afterTemporary();
      await rename(made, target);
      await syncFolder(folder);
      return { id, path: join(pathOf(id), "data"), size };
    });
  };

  return {
    find,
    madeAt: fileMadeAt,
    sweep: async () => {
      const names = await readdir(folder);
      // Killed between the two renames of a replacement: the new folder is whole, and the old one is out of the way.
      for (const next of names.filter((name) => name.startsWith(NEXT))) {
        const id = next.slice(NEXT.length);
        if (names.includes(id)) await removeTree(host, join(folder, next));
        else await rename(join(folder, next), pathOf(id));
      }
      const leftovers = names.filter((name) => name.startsWith(TEMPORARY) || name.startsWith(GOING));
      await Promise.all(leftovers.map((name) => removeTree(host, join(folder, name))));
    },
    list: async () => {
      const names = (await readdir(folder)).filter((name) => /^[vs]-/.test(name));
      const images = await Promise.all(names.map(find));
      return images.filter((image) => image !== undefined);
    },
    create: (id, size) => make(id, size, async () => {}),
    clone: (source, id, size, { signal } = {}) =>
      make(id, size, (data) => copyFolder(host, source, data, signal)),
    replace: async (source, id, size, signal) => {
      await requireUnused(id);
      const next = join(folder, `${NEXT}${id}`);
      await removeTree(host, next);
      await make(id, size, (data) => copyFolder(host, source, data, signal), next);
      afterNext();
      const going = await renameAway(id);
      await rename(next, pathOf(id));
      await syncFolder(folder);
      // Last: it takes long where there is much in it.
      await removeTree(host, going);
      return { id, path: join(pathOf(id), "data"), size };
    },
    grow: async (image, size) => {
      await writeSize(pathOf(image.id), size);
      return { ...image, size };
    },
    renew: async ({ id }) => {
      throw new EngineError("FAILED_PRECONDITION", `folder ${id} is not an image that several nodes have`);
    },
    remove: async (id) => {
      await requireUnused(id);
      await removeTree(host, await renameAway(id));
      await syncFolder(folder);
    },
  };
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
