import { chmod, mkdir, readdir, readFile, rename, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** In memory on every usual machine: what is here ends with it, and reaches no disk. */
const ROOT = "/run/mooring";

/**
 * Where a runtime keeps what only lives as long as the machine runs: bundles, with the containers' environment, which is
 * secret as often as not, and runc's own notes.
 */
export interface RunFolder {
  /** `--root` of runc. */
  readonly runc: string;
  /** For secrets of the part that needs a place for some, and makes it. */
  readonly secrets: string;
  bundle(container: string): string;
  /** Where the root of a container that runs from an image is mounted. */
  root(container: string): string;
  /** Where what is mounted for a container with a user namespace of its own is; made by the part that needs it. */
  mapped(container: string): string;
  /** Containers that have a bundle, or such a root. */
  containers(): Promise<string[]>;
  /** Folders that no container may see: those of every Mooring on this machine. */
  hidden(): Promise<string[]>;
  /** Removes it when no container is left; the note of what is to be hidden stays. */
  close(): Promise<void>;
}

/** `name`: of this state folder, unique on the machine. `hidden`: what belongs to it. */
export async function openRunFolder(name: string, hidden: readonly string[]): Promise<RunFolder> {
  const root = join(ROOT, name);
  const bundles = join(root, "bundles");
  const runc = join(root, "runc");
  const roots = join(root, "roots");
  const mapped = join(root, "mapped");
  for (const folder of [bundles, runc, roots]) await mkdir(folder, { recursive: true, mode: 0o700 });
  // Each folder in `mapped` is the one of a container's root user, who must get there.
  await mkdir(mapped, { recursive: true });
  for (const folder of [ROOT, root, mapped]) await chmod(folder, 0o711);
  await writeFile(join(root, "hidden.new"), JSON.stringify(hidden), { mode: 0o600 });
  await rename(join(root, "hidden.new"), join(root, "hidden"));
  async function containers(): Promise<string[]> {
    const lists = await Promise.all(
      [bundles, roots, mapped].map((folder) => readdir(folder).catch(() => [])),
    );
    return [...new Set(lists.flat())];
  }

  return {
    runc,
    secrets: join(root, "secrets"),
    bundle: (container) => join(bundles, container),
    root: (container) => join(roots, container),
    mapped: (container) => join(mapped, container),
    containers,
    hidden: hiddenFolders,
    async close() {
      if ((await containers()).length > 0) return;
      await rm(bundles, { recursive: true, force: true });
      for (const folder of [roots, mapped]) await rmdir(folder).catch(() => {});
      await rm(join(root, "secrets"), { recursive: true, force: true });
      await rm(runc, { recursive: true, force: true });
    },
  };
}

/** The names of all on this machine. */
export const runFolders = (): Promise<string[]> => readdir(ROOT).catch(() => []);

/** Containers that have a bundle there. */
export const containersUnder = (name: string): Promise<string[]> =>
  readdir(join(ROOT, name, "bundles")).catch(() => []);

/** What belongs to it, whether that is there or not. None while it is being made. */
export async function hiddenOf(name: string): Promise<string[]> {
  const text = await readFile(join(ROOT, name, "hidden"), "utf8").catch(() => "[]");
  return JSON.parse(text);
}

/** Forgets those of state folders that are gone. */
async function hiddenFolders(): Promise<string[]> {
  const all = await Promise.all((await runFolders()).map((name) => readHidden(name)));
  return [...new Set(all.flat())];
}

async function readHidden(name: string): Promise<string[]> {
  const root = join(ROOT, name);
  const folders = await hiddenOf(name);
  if (folders.length === 0) return [];
  const there = await Promise.all(folders.map((folder) => stat(folder).catch(() => undefined)));
  const left = folders.filter((_, index) => there[index] !== undefined);
  if (left.length === 0 && (await isUnused(root))) await rm(root, { recursive: true, force: true });
  return left;
}

/** A Mooring that was killed has left its folders here, and no container in them. */
async function isUnused(root: string): Promise<boolean> {
  const lists = await Promise.all(
    ["bundles", "roots", "mapped"].map((name) => readdir(join(root, name)).catch(() => [])),
  );
  return lists.flat().length === 0;
}
