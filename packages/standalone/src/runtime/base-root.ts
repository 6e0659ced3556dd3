import { lstat, mkdir, mkdtemp, readdir, readlink, realpath, rmdir, writeFile } from "node:fs/promises";
import { dirname, join } from "node:path";
import type { Host } from "@mooring/engine";
import { failpoint } from "@mooring/store";
import type { ContainerMount } from "./runtime.ts";

/**
 * The root file system of `image: host`: what the machine has on `/` and on the system folders that are mounts of
 * their own, and nothing that is mounted below. A plain recursive bind of `/` would carry a copy of every volume's
 * mount into every container, and no volume could be detached while any container runs.
 *
 * An overlay with an empty memory file system on top, so that mount points can be made that the machine lacks. It is
 * the same for all containers; they get it read-only.
 */
export interface BaseRoot {
  readonly path: string;
  readonly extra: readonly ContainerMount[];
  /** System folders that are mounts of their own in it; the root's being read-only does not make them so. */
  readonly layers: readonly string[];
  /**
   * Makes sure that something can be mounted there, and returns where that is once links of the image are resolved
   * (`/var/run/x` is `/run/x`).
   */
  mountPoint(target: string, kind: "directory" | "file"): Promise<string>;
  /**
   * Lets containers see what the machine has by now. An overlay does not expect its lower layer to change: a program
   * that was not found stays missing after an administrator installed it, until the cached result is dropped.
   */
  refresh(): Promise<void>;
}

const failpoints = {
  scratchMounted: failpoint("standalone/runtime/root-scratch-mounted"),
  layerMounted: failpoint("standalone/runtime/root-layer-mounted"),
  moved: failpoint("standalone/runtime/root-moved"),
};

/** Folders that are part of the system even when they are file systems of their own. */
const SYSTEM_FOLDERS = ["/usr", "/usr/local", "/opt", "/srv", "/home", "/root", "/var", "/var/lib", "/nix"];
/** Mounted fresh in each container; the sandbox makes what is needed in them. */
export const FRESH = ["/proc", "/dev", "/sys", "/tmp", "/run"];

/**
 * The machine's root file system, read-only, as the root of containers that have no image: mounted once below `folder`, and
 * found again after a restart.
 */
export async function openBaseRoot(host: Host, folder: string): Promise<BaseRoot> {
  const path = join(folder, "root");
  if ((await host.mounts.at(path)).length === 0) {
    // What a start that was killed half-way left here has nothing that a container uses yet.
    await closeBaseRoot(host, folder);
    await build(host, folder, path);
  }
  return {
    path,
    extra: await outsideLinks(path),
    layers: (await host.mounts.list())
      .filter(({ target }) => target.startsWith(`${path}/`))
      .map(({ target }) => target.slice(path.length)),
    refresh: () => dropCaches(host, path),
    mountPoint: (target, kind) => makeMountPoint(path, target, kind),
  };
}

/** Remounting an overlay, with nothing changed, makes the kernel forget the names that it has cached for it. */
async function dropCaches(host: Host, path: string): Promise<void> {
  for (const { target, fsType } of await host.mounts.list()) {
    const ours = target === path || target.startsWith(`${path}/`);
    if (ours && fsType === "overlay") await host.exec.run("mount", ["-o", "remount", target]);
  }
}

/** Takes it down, also one that an earlier process left. Running containers keep theirs. */
export async function closeBaseRoot(host: Host, folder: string): Promise<void> {
  const mounted = (await host.mounts.list()).map((mount) => mount.target);
  const ours = mounted.filter((target) => target.startsWith(`${folder}/`));
  // Backwards: what is mounted on another mount comes off before it.
  for (const target of ours.sort().reverse()) await host.mounts.unmount(target);
  for (const left of await readdir(folder).catch(() => [])) await rmdir(join(folder, left)).catch(() => {});
  await rmdir(folder).catch(() => {});
}

async function build(host: Host, folder: string, path: string): Promise<void> {
  await mkdir(path, { recursive: true });
  // A name of its own: a mount command that outlives the process that was killed over it finds its folder gone.
  const scratch = await mkdtemp(join(folder, "scratch-"));
  await host.mounts.mount({
    source: "mooring-scratch",
    target: scratch,
    fsType: "tmpfs",
    options: ["size=16m", "mode=700"],
  });
  await host.exec.run("mount", ["--make-private", scratch]);
  failpoints.scratchMounted();
  const mounts = new Set((await host.mounts.list()).map((mount) => mount.target));
  // The root comes last into place: that it is mounted proves that everything is. So layers are built in the scratch
  // file system, and `/` is moved there with all that is on it.
  const staging = join(scratch, "root");
  await mkdir(staging);
  for (const [index, layer] of ["/", ...SYSTEM_FOLDERS.filter((system) => mounts.has(system))].entries()) {
    const [upper, work] = [join(scratch, `upper${index}`), join(scratch, `work${index}`)];
    await mkdir(upper);
    await mkdir(work);
    await host.mounts.mount({
      source: "mooring-root",
      target: join(staging, layer),
      fsType: "overlay",
      options: [`lowerdir=${layer}`, `upperdir=${upper}`, `workdir=${work}`],
    });
    await host.exec.run("mount", ["--make-private", join(staging, layer)]);
    failpoints.layerMounted();
  }
  await host.exec.run("mount", ["--move", staging, path]);
  failpoints.moved();
}

/** Name resolution is set up through a link into /run on many machines. */
async function outsideLinks(root: string): Promise<ContainerMount[]> {
  const mounts: ContainerMount[] = [];
  for (const file of ["/etc/resolv.conf"]) {
    try {
      const real = await realpath(file);
      if (!FRESH.some((fresh) => real.startsWith(`${fresh}/`))) continue;
      await lstat(join(root, file));
      mounts.push({ source: real, target: real, readOnly: true });
    } catch {
      // The machine has none.
    }
  }
  return mounts;
}

async function makeMountPoint(root: string, target: string, kind: "directory" | "file"): Promise<string> {
  const inside = await resolveInRoot(root, target);
  if (FRESH.some((fresh) => inside === fresh || inside.startsWith(`${fresh}/`))) return inside;
  const path = join(root, inside);
  if (
    await lstat(path).then(
      () => true,
      () => false,
    )
  )
    return inside;
  await mkdir(kind === "directory" ? path : dirname(path), { recursive: true });
  if (kind === "file") await writeFile(path, "", { flag: "a" });
  return inside;
}

/** Follows links as a process would whose root is `root`: an absolute link never leads to the machine's own files. */
async function resolveInRoot(root: string, target: string): Promise<string> {
  const todo = target.split("/").filter(Boolean);
  const done: string[] = [];
  for (let links = 0; todo.length > 0; ) {
    const part = todo.shift();
    if (part === undefined || part === ".") continue;
    if (part === "..") {
      done.pop();
      continue;
    }
    const link = await readlink(join(root, ...done, part)).catch(() => undefined);
    if (link === undefined) {
      done.push(part);
      continue;
    }
    links += 1;
    if (links > 40) throw new Error(`${target}: too many levels of symbolic links`);
    if (link.startsWith("/")) done.length = 0;
    todo.unshift(...link.split("/").filter(Boolean));
  }
  return `/${done.join("/")}`;
}
