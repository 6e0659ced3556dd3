import type { Exec } from "@mooring/engine";
import { within } from "@mooring/store";

/** As long as a tree of a million files takes on a busy machine. */
const LONGEST_MS = 120_000;

/**
 * Bytes that each tree takes on disk, by path. One that is not there takes none. A program of its own reads them: trees are as
 * large as containers make them, and change while they are read. It follows no link, and stays on the file system of each.
 */
export async function diskUse(
  exec: Exec,
  paths: readonly string[],
  signal: AbortSignal,
): Promise<Map<string, bigint>> {
  const use = new Map<string, bigint>();
  if (paths.length === 0) return use;
  const args = ["-n", "19", "du", "--summarize", "--one-file-system", "--block-size=1", "--", ...paths];
  // It fails for whatever has gone meanwhile, and prints the rest.
  const { stdout } = await within(LONGEST_MS, signal, (until) => exec.try("nice", args, { signal: until }));
  for (const line of stdout.split("\n")) {
    const [, bytes, path] = /^(\d+)\t(.+)$/.exec(line) ?? [];
    if (bytes !== undefined && path !== undefined) use.set(path, BigInt(bytes));
  }
  return use;
}
