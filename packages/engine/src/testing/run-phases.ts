import { readFile, rename, writeFile } from "node:fs/promises";
import { join } from "node:path";

/** Runs the phases of a life, from the one in which the last life below `dir` was killed. Each can be done again from its start. */
export async function runPhases(dir: string, phases: readonly (() => Promise<unknown>)[]): Promise<void> {
  const progress = join(dir, "progress");
  const from = Number(await readFile(progress, "utf8").catch(() => "0"));
  for (const [index, phase] of [...phases.entries()].slice(from)) {
    await phase();
    // Renamed into place: an emptied file would begin the story again.
    await writeFile(`${progress}.new`, String(index + 1));
    await rename(`${progress}.new`, progress);
  }
}
