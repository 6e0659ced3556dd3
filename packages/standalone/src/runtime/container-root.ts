import { constants } from "node:fs";
import { chmod, mkdir, open, readdir, rm, rmdir } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Host } from "@mooring/engine";
import { failpoint } from "@mooring/store";

const O_PATH = 0o10000000;

/** Where the root of one container that runs from an image is. */
interface RootPlace {
  /** The mount. */
  root: string;
  /** On disk: what the container writes. */
  changes: string;
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
  // By the open folder: its path may have characters that mean something to mount, and its owner may move it meanwhile.
  const lower = await open(image, O_PATH | constants.O_DIRECTORY);
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

/** Takes it away, with what the container has written. One that is not there is fine. */
export async function removeContainerRoot(host: Host, { root, changes }: RootPlace): Promise<void> {
  if ((await readdir(dirname(root)).catch(() => [])).length > 0) {
    await host.mounts.unmount(root);
    // Never what is in it.
    await rmdir(root).catch((error: NodeJS.ErrnoException) => {
      if (error.code !== "ENOENT") throw error;
    });
  }
  await rm(changes, { recursive: true, force: true });
}
