import { execFile } from "node:child_process";
import { constants, copyFile, mkdir, rm } from "node:fs/promises";
import { dirname, join } from "node:path";
import { promisify } from "node:util";
import { eventually } from "@mooring/store/testing";
import { freshName } from "./names.ts";
import { mapSome, type PublishedVolume, readRecordsAt, type Site } from "./volume-set.ts";

const run = promisify(execFile);

/**
 * The records of snapshots where they are: a raw image is read in its pool, a file system is mounted from a copy that
 * shares its blocks, so that its journal can be replayed. Restoring, attaching and staging a volume for each costs
 * many times that.
 */
export async function inspectSnapshots(
  volumes: readonly PublishedVolume[],
  snapshots: readonly string[],
): Promise<Buffer[]> {
  return mapSome(volumes, ({ access, site }, index) => {
    const image = join(site.images, `${snapshots[index] ?? ""}.img`);
    return access === "block" ? readRecordsAt(site.seen(image)) : readMounted(site, image);
  });
}

async function readMounted(site: Site, image: string): Promise<Buffer> {
  const folder = await scratchOf(site);
  const copy = join(folder, freshName("copy"));
  const target = `${copy}.mount`;
  await copyFile(site.seen(image), site.seen(copy), constants.COPYFILE_FICLONE_FORCE);
  await mkdir(site.seen(target));
  try {
    await onSite(site, "mount", "-o", "loop", copy, target);
    try {
      return await readRecordsAt(join(site.seen(target), "records"));
    } finally {
      // A program that reads all file systems of the machine keeps this one in use for a moment.
      await eventually(`${target} to be unmounted`, () =>
        onSite(site, "umount", target).then(
          () => true,
          () => false,
        ),
      );
    }
  } finally {
    await rm(site.seen(target), { recursive: true });
    await rm(site.seen(copy));
  }
}

const scratches = new Map<string, Promise<string>>();

/** A folder in the pool's file system; blocks are shared only between files that are alike in copy-on-write. */
function scratchOf(site: Site): Promise<string> {
  const folder = join(dirname(site.images), "inspected");
  const make = async () => {
    await mkdir(site.seen(folder), { recursive: true });
    const { stdout } = await run("stat", ["--file-system", "--format=%T", site.seen(folder)]);
    if (stdout.trim() === "btrfs") await run("chattr", ["+C", site.seen(folder)]);
    return folder;
  };
  const made = scratches.get(folder) ?? make();
  scratches.set(folder, made);
  return made;
}

async function onSite({ enter }: Site, ...argv: string[]): Promise<void> {
  const [program = "", ...args] = [...enter, ...argv];
  await run(program, args);
}
