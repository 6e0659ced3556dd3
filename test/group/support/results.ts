import { createHash } from "node:crypto";
import { mkdir, open, readFile, rename } from "node:fs/promises";
import { dirname, resolve } from "node:path";
import { fileURLToPath } from "node:url";

const BUNDLE = fileURLToPath(new URL("../../../dist/mooring.mjs", import.meta.url));

/** What is known of a row. */
export interface RowResult {
  /** Which program it was: the begin of the bundle's SHA-256. */
  bundle: string;
  /** Sets that were evaluated. */
  sets: number;
  /** How many of them were restored into volumes and read there. */
  restored: number;
  /** What was wrong with a set, as text; empty is what has to be. */
  violations: string[];
  /** Barriers that missed their deadline: no set, and the writers went on. */
  missedDeadlines: number;
  /** Violations that were seen in snapshots that are not of one moment; absent until that was checked. */
  control?: number;
}

type Results = Record<string, RowResult>;

/**
 * The row's result, which later runs of the same bundle add to; `save` makes it durable in the file that
 * `MOORING_GROUP_RESULTS` names. Without one, nothing is kept. One process at a time writes to a file.
 */
export async function openResult(title: string): Promise<{ result: RowResult; save(): Promise<void> }> {
  const bundle = createHash("sha256")
    .update(await readFile(BUNDLE))
    .digest("hex")
    .slice(0, 12);
  const fresh = { bundle, sets: 0, restored: 0, violations: [], missedDeadlines: 0 };
  const file = process.env["MOORING_GROUP_RESULTS"];
  if (file === undefined || file === "") return { result: fresh, save: async () => {} };
  const before = (await load(file))[title];
  const result: RowResult = before?.bundle === bundle ? before : fresh;
  const save = async () => replace(resolve(file), { ...(await load(file)), [title]: result });
  return { result, save };
}

async function load(file: string): Promise<Results> {
  try {
    return JSON.parse(await readFile(file, "utf8"));
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return {};
    throw error;
  }
}

async function replace(file: string, results: Results): Promise<void> {
  await mkdir(dirname(file), { recursive: true });
  const temporary = `${file}.new`;
  const handle = await open(temporary, "w");
  try {
    await handle.writeFile(`${JSON.stringify(results, null, 1)}\n`);
    await handle.sync();
  } finally {
    await handle.close();
  }
  await rename(temporary, file);
  const folder = await open(dirname(file), "r");
  await folder.sync().finally(() => folder.close());
}
