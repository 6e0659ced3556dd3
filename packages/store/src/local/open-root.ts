import {
  closeSync,
  fstatSync,
  mkdtempSync,
  openSync,
  readdirSync,
  realpathSync,
  rmSync,
  statfsSync,
  statSync,
  symlinkSync,
  writeSync,
} from "node:fs";
import { basename, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { writeFailure } from "../runtime/disk-errors.ts";
import { closeOnExec } from "./close-on-exec.ts";
import { storeFile } from "./files.ts";

/** Where every Linux has files in memory. */
const MEMORY = "/dev/shm";
const TMPFS = 0x01021994;
const PREFIX = "mooring-store-";
/** Far longer than an open takes. */
const LEFT_MS = 600_000;
/** Room for more readers than LMDB has by default. */
const TABLE_BYTES = 16_384;

/**
 * Opens LMDB's file in the folder of a store that is locked for this process.
 *
 * Beside the path by which it is opened LMDB maps a file in which it writes down who reads. On btrfs each write into a mapped
 * file takes a new block, and where the disk has none, the kernel ends the process (SIGBUS). So the path is one in memory, which
 * leads to the file; only who copies the store needs what lies beside it once they are open, and finds it through this process
 * (docs/decisions/0149-who-reads-is-written-down-in-memory.md).
 */
export function openRoot(folder: string): RootDatabase<string, string> {
  const memory = folderInMemory(folder);
  try {
    const path =
      memory === undefined ? withTable(storeFile(folder)) : join(memory, basename(storeFile(folder)));
    const root = openAt(path);
    closeOnExec(storeFile(folder));
    return root;
  } finally {
    if (memory !== undefined) remove(memory);
  }
}

/** How the names of such folders begin: the process may have several stores open. */
export function prefixInMemory(folder: string): string {
  const { dev, ino } = statSync(folder);
  return `${PREFIX}${dev}-${ino}-`;
}

/** The file in which LMDB writes down who reads, when it opens a file by this path. */
export function tableOf(path: string): string {
  return `${path}-lock`;
}

/** With all that LMDB opens. Undefined where there is none, or no room in it: the table is beside the store then, as LMDB has it. */
function folderInMemory(folder: string): string | undefined {
  let made: string | undefined;
  try {
    if (statfsSync(MEMORY).type !== TMPFS) return undefined;
    for (const name of readdirSync(MEMORY)) if (name.startsWith(PREFIX)) removeLeft(join(MEMORY, name));
    made = mkdtempSync(join(MEMORY, prefixInMemory(folder)));
    const file = storeFile(realpathSync(folder));
    const path = join(made, basename(file));
    symlinkSync(file, path);
    withTable(path);
    // Of a version that had it here. Nothing in it outlives a process.
    rmSync(tableOf(file), { force: true });
    return made;
  } catch {
    if (made !== undefined) remove(made);
    return undefined;
  }
}

/** What a process that was killed while it opened has left. */
function removeLeft(folder: string): void {
  const made = statSync(folder, { throwIfNoEntry: false });
  if (made === undefined || made.uid !== process.getuid?.() || Date.now() - made.mtimeMs < LEFT_MS) return;
  remove(folder);
}

function remove(folder: string): void {
  rmSync(folder, { recursive: true, force: true });
}

/**
 * Makes the table, with all of its blocks, and returns the path. LMDB ends the process when it cannot make one, and the kernel
 * does when it then has no block for it. Throws `writeFailure`.
 */
export function withTable(path: string): string {
  const table = tableOf(path);
  try {
    const file = openSync(table, "a", 0o600);
    try {
      const missing = TABLE_BYTES - fstatSync(file).size;
      if (missing > 0) writeSync(file, Buffer.alloc(missing));
    } finally {
      closeSync(file);
    }
  } catch (error) {
    throw writeFailure(table, error);
  }
  return path;
}

function openAt(path: string): RootDatabase<string, string> {
  return open<string, string>({
    path,
    overlappingSync: false,
    // Every commit is one explicit batch. The implicit batches would reject a promise that no code of ours has when the
    // disk is full, and Node ends a process for that.
    eventTurnBatching: false,
    encoding: "string",
    maxDbs: 8,
  });
}
