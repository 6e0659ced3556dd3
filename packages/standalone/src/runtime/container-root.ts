import { constants } from "node:fs";
import { chmod, chown, mkdir, open, readdir, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import { type Host, removeTree } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import { mountMapped } from "./mapped-mount.ts";
import type { UserRange } from "./runtime.ts";

const O_PATH = 0o10000000;

/** Where the root of one container that runs from an image is. */
interface RootPlace {
  /** The mount. */
  root: string;
  /** On disk: what the container writes. */
  changes: string;
  /** Whose the files of the image are in the container. */
  users?: UserRange;
}

const mounted = failpoint("standalone/runtime/image-root-mounted");

/**
 * Gives a container a root of its own: the image's, which all containers share and none changes, below an empty layer for
 * what this one writes. Takes away what an earlier try left.
 */
export async function mountContainerRoot(host: Host, image: string, place: RootPlace): Promise<void> {
  await removeContainerRoot(host, place);
  const upper = join(place.changes, "upper");
  const work = join(place.changes, "work");
  for (const folder of [upper, work, place.root]) await mkdir(folder, { recursive: true, mode: 0o700 });
  // The layer's own mode is what a container sees on its `/`.
  await chmod(upper, 0o755);
  // Before it is mounted: an overlay reads whose its root is once.
  if (place.users !== undefined) await chown(upper, place.users.first, place.users.first);
  // By the open folder: its path may have characters that mean something to mount, and its owner may move it meanwhile.
  const lower = await open(await lowerOf(host, image, place), O_PATH | constants.O_DIRECTORY);
  try {
    await host.mounts.mount({
      source: "mooring-image",
      target: place.root,
      fsType: "overlay",
      options: [
        // Attributes by which a layer may lead elsewhere are not followed.
        ...["nodev", "redirect_dir=nofollow", "metacopy=off", "index=off"],
        ...[`lowerdir=/proc/${process.pid}/fd/${lower.fd}`, `upperdir=${upper}`, `workdir=${work}`],
      ],
    });
    await host.exec.run("mount", ["--make-private", place.root]);
    mounted();
  } catch (error) {
    const where = dirname(place.changes);
    const message = `cannot lay a container's own layer on its image: ${error instanceof Error ? error.message : error}`;
    throw new Error(
      `${message}. ${where} must be on a file system that can carry one (ext4, XFS, btrfs, tmpfs)`,
      {
        cause: error,
      },
    );
  } finally {
    await lower.close();
  }
}

/** The image; for a user namespace a mount of it on which its files belong to the container's users. */
async function lowerOf(host: Host, image: string, { root, users }: RootPlace): Promise<string> {
  if (users === undefined) return image;
  const target = `${root}-image`;
  await mkdir(target, { recursive: true });
  await mountMapped(host.exec, { source: image, target }, users);
  return target;
}

/** Takes it away, with what the container has written. One that is not there is fine. */
export async function removeContainerRoot(host: Host, { root, changes }: RootPlace): Promise<void> {
  if ((await readdir(dirname(root)).catch(() => [])).length > 0) {
    await host.mounts.unmount(root);
    // Never what is in it.
    await rmdir(root).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
  await removeTree(host, changes);
}
