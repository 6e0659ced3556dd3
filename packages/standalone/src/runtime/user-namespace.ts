import { chmod, chown, mkdir, readdir, rmdir, stat, unlink, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Host } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import { mountMapped, UnmappableError, unmountBelow } from "./mapped-mount.ts";
import type { OciMount } from "./oci/mounts.ts";
import type { ContainerConfig, UserRange } from "./runtime.ts";

const mounted = failpoint("standalone/runtime/volume-mapped");

/** Made for a container's root user alone: without rights on the machine's files, it must get at its root all the same. */
export async function makeMappedFolder(folder: string, { first }: UserRange): Promise<void> {
  await mkdir(folder, { recursive: true, mode: 0o700 });
  await chmod(folder, 0o700);
  await chown(folder, first, first);
}

/** Lays the machine's root, which belongs to no user that the container knows, where its root user gets at it. */
export async function bindRoot(host: Host, base: string, root: string): Promise<void> {
  await mkdir(root, { recursive: true });
  if ((await host.mounts.at(root)).length > 0) return;
  await host.exec.run("mount", ["--rbind", "--make-rprivate", base, root]);
}

/**
 * The container's mounts with files that belong to its own users. The copies are needed until it runs: it has its own by
 * then. Throws an {@link UnmappableError} with the mount's index for a volume that cannot be shown to it.
 */
export async function mapMounts(
  host: Host,
  config: ContainerConfig,
  folder: string,
): Promise<ContainerConfig> {
  const { users } = config;
  if (users === undefined) return config;
  const mounts: ContainerConfig["mounts"][number][] = [];
  for (const [index, mount] of config.mounts.entries()) {
    const target = join(folder, String(index));
    if ((await stat(mount.source)).isDirectory()) await mkdir(target, { recursive: true });
    else await writeFile(target, "", { flag: "a" });
    try {
      await mountMapped(host.exec, { source: mount.source, target }, users);
    } catch (error) {
      if (!(error instanceof UnmappableError)) throw error;
      throw new UnmappableError(error.message, index);
    }
    mounted();
    mounts.push({ ...mount, source: target });
  }
  return { ...config, mounts };
}

/** What is to be hidden, as far as the container's root user gets there at all: others' folders stop it anyway. */
export async function reachable(root: string, hidden: readonly OciMount[]): Promise<OciMount[]> {
  const kept = await Promise.all(
    hidden.map(async (each) => ((await isOpen(root, each.destination)) ? [each] : [])),
  );
  return kept.flat();
}

async function isOpen(root: string, path: string): Promise<boolean> {
  for (let folder = dirname(path); folder !== "/"; folder = dirname(folder)) {
    const info = await stat(join(root, folder)).catch(() => undefined);
    if (info === undefined || (info.mode & 0o001) === 0) return false;
  }
  return true;
}

/** The volumes' copies; the root stays as long as the container. */
export async function removeMappedVolumes(host: Host, folder: string): Promise<void> {
  for (const name of await readdir(folder).catch(() => [])) {
    if (name === "root") continue;
    const path = join(folder, name);
    await host.mounts.unmount(path);
    await rmdir(path).catch(() => unlink(path));
  }
}

/** All that was mounted for the container. One that is not there is fine. */
export async function removeMapped(host: Host, folder: string): Promise<void> {
  if ((await stat(folder).catch(() => undefined)) === undefined) return;
  await unmountBelow(host, folder);
  for (const name of await readdir(folder)) {
    const path = join(folder, name);
    // Never what is in it.
    await rmdir(path).catch(() => unlink(path));
  }
  await rmdir(folder);
}
