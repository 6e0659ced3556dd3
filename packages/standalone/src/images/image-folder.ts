import { realpath, stat } from "node:fs/promises";

/**
 * Checks a folder that a pod names as its root. What no container may see is in none: a folder that has one of `hidden` in it,
 * or is in one, is refused; the machine's own root is `image: host`, without its secrets.
 */
export async function imageFolder(path: string, hidden: readonly string[]): Promise<string> {
  const real = await realpath(path).catch(() => undefined);
  if (real === undefined) throw new Error(`folder ${path} of the image does not exist on this machine`);
  if (!(await stat(real)).isDirectory()) throw new Error(`${path} of the image is no folder`);
  if (real === "/") throw new Error("dir:/ is the machine itself: use image: host");
  for (const folder of ["/proc", "/sys", "/dev", "/run/mooring", ...hidden]) {
    if (isIn(real, folder) || isIn(folder, real))
      throw new Error(`folder ${path} of the image has to do with ${folder}, which no container may see`);
  }
  return real;
}

function isIn(path: string, folder: string): boolean {
  return path === folder || path.startsWith(`${folder}/`);
}
