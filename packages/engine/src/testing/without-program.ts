import { mkdir, readdir, symlink } from "node:fs/promises";
import { join } from "node:path";
import type { TestContext } from "node:test";

const FOLDERS = ["/usr/sbin", "/usr/bin", "/sbin", "/bin"];

/**
 * Makes this process, until the test ends, find every program of the machine but this one. `folder` is made for them.
 * Hands back what undoes it.
 */
export async function withoutProgram(t: TestContext, folder: string, program: string): Promise<() => void> {
  const path = process.env.PATH;
  await mkdir(folder);
  const known = new Set([program]);
  for (const from of FOLDERS) {
    for (const name of await readdir(from)) {
      if (known.has(name)) continue;
      known.add(name);
      await symlink(join(from, name), join(folder, name));
    }
  }
  process.env.PATH = folder;
  const undo = () => {
    process.env.PATH = path;
  };
  t.after(undo);
  return undo;
}
