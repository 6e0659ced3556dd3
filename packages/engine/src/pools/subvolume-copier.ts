import { randomUUID } from "node:crypto";
import { mkdir, readdir, rm, truncate } from "node:fs/promises";
import { basename, join } from "node:path";
import { failpoint, syncFolder } from "@mooring/store";
import type { Host } from "../host/host.ts";
import { absent, commitImages, reflink } from "./file-images.ts";
import type { GroupCopier } from "./group-copy.ts";
import { temporaryName } from "./image-store.ts";

const snapshotted = failpoint("engine/group-snapshot/subvolume-made");
const extracted = failpoint("engine/group-snapshot/images-extracted");
const dropped = failpoint("engine/group-snapshot/subvolume-dropped");

/**
 * One snapshot of the subvolume with all images: one transaction, so one moment, without stopping any writer. The
 * images are reflinked out of it afterwards, off the path of those who write, and the snapshot is dropped.
 */
export function subvolumeCopier(host: Host, images: string, folder: string): GroupCopier {
  return {
    atomicity: "one-moment",
    sweep: async () => {
      for (const name of (await readdir(folder).catch(absent)) ?? [])
        await dropSubvolume(host, join(folder, name));
    },
    begin: async (copies) => {
      await mkdir(folder, { recursive: true, mode: 0o700 });
      const snapshot = join(folder, randomUUID());
      const works = copies.map((copy) => ({ ...copy, made: join(images, temporaryName(copy.id)) }));
      const drop = async (): Promise<void> => dropSubvolume(host, snapshot);
      // The snapshot is a commit of the file system, for which all writers wait: what is dirty by now is not left to it.
      await host.exec.run("sync", ["--file-system", images]);
      return {
        copy: async () => {
          await host.exec.run("btrfs", ["subvolume", "snapshot", "-r", images, snapshot]);
          snapshotted();
        },
        finish: async () => {
          const inside = (path: string): string => join(snapshot, basename(path));
          // One after the other: each takes locks of the file system that writers wait for.
          for (const { from, made, size } of works) {
            await reflink({ ...from, path: inside(from.path) }, made);
            if (size > from.size) await truncate(made, size);
          }
          // One commit of the file system for all of them, not one each.
          await host.exec.run("sync", ["--file-system", images]);
          extracted();
          const made = works.map(({ id, made, size }) => ({ id, made, size }));
          const result = await commitImages(images, made);
          await drop();
          dropped();
          return result;
        },
        abandon: async () => {
          await Promise.all(works.map(({ made }) => rm(made, { force: true })));
          await drop();
          await syncFolder(images);
        },
      };
    },
  };
}

/** Its space comes back later, in the background. */
async function dropSubvolume(host: Host, path: string): Promise<void> {
  const present = await readdir(path).catch(absent);
  if (present !== undefined) await host.exec.run("btrfs", ["subvolume", "delete", path]);
}
