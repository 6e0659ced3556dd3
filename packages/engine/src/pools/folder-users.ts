import type { MountEntry } from "../host/host.ts";

/**
 * Mounts that show this folder or a part of it elsewhere, or that sit inside it: while there is one, removing the
 * folder would remove a pod's data while it works on them.
 */
export function folderUsers(mounts: readonly MountEntry[], folder: string): string[] {
  const inside = mounts.filter((m) => isBelow(m.target, folder));
  const home = longestPrefix(mounts, folder);
  if (home === undefined) return inside.map((m) => m.target);
  const root = joinRoot(home.root, folder.slice(home.target === "/" ? 0 : home.target.length));
  const shown = mounts.filter(
    (m) => m.device === home.device && (m.root === root || isBelow(m.root, root)) && m.target !== home.target,
  );
  return [...new Set([...inside, ...shown].map((m) => m.target))];
}

function isBelow(path: string, folder: string): boolean {
  return path.startsWith(folder.endsWith("/") ? folder : `${folder}/`);
}

function longestPrefix(mounts: readonly MountEntry[], folder: string): MountEntry | undefined {
  const over = mounts.filter((m) => m.target === "/" || m.target === folder || isBelow(folder, m.target));
  return over.reduce<MountEntry | undefined>(
    (best, m) => (best === undefined || m.target.length >= best.target.length ? m : best),
    undefined,
  );
}

function joinRoot(root: string, rest: string): string {
  return root === "/" ? rest || "/" : root + rest;
}
