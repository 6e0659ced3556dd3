import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { armFailpoint } from "@mooring/store";

/**
 * For the program of a kill suite: from here on `MOORING_FAILPOINT` ends it. What is returned writes the failpoints that it has
 * passed into the folder, for those who call {@link notPassed}.
 */
export function armLife(dir: string): () => Promise<void> {
  const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
  return () => writeFile(join(dir, FILE), JSON.stringify([...new Set(passed)]));
}

/** Of these failpoints the ones that no life has passed that came to its end in one of the folders. */
export async function notPassed(names: readonly string[], ...dirs: readonly string[]): Promise<string[]> {
  const files = await Promise.all(dirs.map((dir) => readFile(join(dir, FILE), "utf8")));
  const passed = new Set(files.flatMap((file) => JSON.parse(file) as string[]));
  return names.filter((name) => !passed.has(name));
}

const FILE = "passed.json";
