import { open, stat } from "node:fs/promises";
import { dirname, join, resolve } from "node:path";
import { requireKind } from "../runtime/file-kind.ts";
import { replaceFile } from "../runtime/replace-file.ts";
import { checkStore, type StoreReport } from "./check/check-store.ts";
import type { Damage } from "./check/damage.ts";
import { readReached } from "./newest-revision.ts";
import { StoreOpenError } from "./open-error.ts";
import { FORMAT } from "./seal.ts";

/** What of a store that was here is there besides its file: "the pool file /var/lib/mooring/pools/default/pool.img". */
export type Evidence = () => Promise<string | undefined>;

/** LMDB's file in the folder of a store. */
export function storeFile(folder: string): string {
  return join(folder, "store.mdb");
}

/** Records that a store was made here: from then on a file that is not there was lost, and is not made anew. */
function madeFile(folder: string): string {
  return join(folder, "made");
}

/** Names in the folder of a store who has it. */
export function ownerFile(folder: string): string {
  return join(folder, "owner");
}

/** Before anything of a store is opened. Throws FileKindError for what is no file there. */
export function requireFiles(folder: string): void {
  const restore = `mooring state restore --state-dir ${dirname(resolve(folder))}`;
  const hint = `move it away, and put back the newest copy: ${restore}`;
  requireKind({ path: storeFile(folder), kind: "file", hint });
  for (const path of [`${storeFile(folder)}-lock`, ownerFile(folder), madeFile(folder)])
    requireKind({ path, kind: "file", hint: "move it away: it is made anew" });
}

const MADE = "A store was made here. Without store.mdb beside it, it has been lost.\n";

/** Bytes of a file; undefined when there is none. */
export async function sizeOf(path: string): Promise<number | undefined> {
  try {
    return (await stat(path)).size;
  } catch (error) {
    if ((error as NodeJS.ErrnoException).code === "ENOENT") return undefined;
    throw error;
  }
}

/**
 * The format of what is there, undefined for a new store. LMDB maps whatever it finds into memory, and would end the
 * process or serve anything over a file that is not as it was written. Throws StoreOpenError.
 */
export async function inspectFiles(
  folder: string,
  { evidence, newest }: { evidence?: Evidence; newest?: string },
): Promise<number | undefined> {
  const path = storeFile(folder);
  const size = await sizeOf(path);
  if (size === undefined || size === 0) {
    const state = size === 0 ? "is empty" : "is missing";
    await requireNew(folder, `${path} ${state}`, evidence);
    return undefined;
  }
  const report = await checkStore(path);
  const { format, damage } = report;
  if (damage.length > 0) throw damaged(path, damage);
  if (format === undefined) await requireNew(folder, `${path} is empty`, evidence);
  if (format !== undefined && format > FORMAT) {
    throw new StoreOpenError(
      "FutureFormat",
      `${folder} was written by a newer version (format ${format}, this one reads up to ${FORMAT}): upgrade Mooring, or use another folder`,
    );
  }
  const older = newest === undefined ? undefined : await isOlder(report, newest);
  if (older !== undefined) throw new StoreOpenError("Older", `${path} ${older}`, { file: path });
  return format;
}

/**
 * Why the store is an older one than what its user has had, going by the file `newest`: "is older than ...". What was made
 * since would be there without a record, and what was done since done again. Undefined when it is not.
 */
export async function isOlder(
  { format, revision }: Pick<StoreReport, "format" | "revision">,
  newest: string,
): Promise<string | undefined> {
  const reached = await readReached(newest);
  if (format === undefined || reached === undefined || revision >= reached.revision) return undefined;
  const { revision: last, time } = reached;
  return `is an older state: it is of revision ${revision}, and the store had come to ${last} by ${time} (${newest})`;
}

/** Throws StoreOpenError (Missing) when the store that is not there was there once. */
async function requireNew(folder: string, what: string, evidence?: Evidence): Promise<void> {
  const remains = (await wasMade(folder)) ? madeFile(folder) : await evidence?.();
  if (remains === undefined) return;
  const message = `${what}, and a store was here (${remains} is there)`;
  throw new StoreOpenError("Missing", message, { file: storeFile(folder) });
}

/** How many damages a refusal names. */
const NAMED = 5;

/** The error with which a damaged store refuses to open; names each place and what to do next. */
export function damaged(path: string, damage: readonly Damage[]): StoreOpenError {
  const named = damage.slice(0, NAMED).map(({ where, what }) => `${where}: ${what}`);
  const more = damage.length - named.length;
  const rest = more > 0 ? `; and ${more} more` : "";
  const message = `${path} is damaged: ${named.join("; ")}${rest}`;
  return new StoreOpenError("Damaged", message, { file: path, damage });
}

/** Whether a store was begun in the folder. */
async function wasMade(folder: string): Promise<boolean> {
  return (await sizeOf(madeFile(folder))) !== undefined;
}

/** Writes down that the store exists, once it does. */
export async function finishFiles(folder: string): Promise<void> {
  if (!(await wasMade(folder))) {
    await replaceFile(madeFile(folder), MADE);
  }
  await syncFolders(folder);
}

/** LMDB syncs its file, not the entry that leads to it: a power loss could take the whole new file. */
async function syncFolders(folder: string): Promise<void> {
  for (const path of [folder, dirname(resolve(folder))]) await syncFolder(path);
}

/** Makes what was created, renamed or removed in a folder durable (`fsync` of the folder). */
export async function syncFolder(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
