import { mkdtempSync, readdirSync, realpathSync, rmSync, statfsSync, statSync, symlinkSync } from "node:fs";
import { basename, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { closeOnExec } from "./close-on-exec.ts";
import { storeFile } from "./files.ts";

/** Where every Linux has files in memory. */
const MEMORY = "/dev/shm";
const TMPFS = 0x01021994;
const PREFIX = "mooring-store-";
/** Far longer than an open takes. */
const LEFT_MS = 600_000;

/**
 * Opens LMDB's file in the folder of a store that is locked for this process.
 *
 * Beside the path by which it is opened LMDB maps a file in which it writes down who reads. On btrfs each write into a mapped
 * file takes a new block, and where the disk has none, the kernel ends the process (SIGBUS). So the path is one in memory, which
 * leads to the file; nobody needs it or what lies beside it once they are open
 * (docs/decisions/0149-who-reads-is-written-down-in-memory.md).
 */
export function openRoot(folder: string): RootDatabase<string, string> {
  const memory = folderInMemory();
  try {
    const path = memory === undefined ? storeFile(folder) : linkIn(memory, folder);
    const root = openAt(path);
    closeOnExec(storeFile(folder));
    return root;
  } finally {
    if (memory !== undefined) rmSync(memory, { recursive: true, force: true });
  }
}

/** Undefined where a container has none: the file is beside the store's then, as LMDB has it. */
function folderInMemory(): string | undefined {
  try {
    if (statfsSync(MEMORY).type !== TMPFS) return undefined;
    for (const name of readdirSync(MEMORY)) if (name.startsWith(PREFIX)) removeLeft(join(MEMORY, name));
    return mkdtempSync(join(MEMORY, PREFIX));
  } catch {
    return undefined;
  }
}

/** What a process that was killed while it opened has left. */
function removeLeft(folder: string): void {
  const made = statSync(folder, { throwIfNoEntry: false });
  if (made === undefined || made.uid !== process.getuid?.() || Date.now() - made.mtimeMs < LEFT_MS) return;
  rmSync(folder, { recursive: true, force: true });
}

function linkIn(memory: string, folder: string): string {
  const file = storeFile(realpathSync(folder));
  const path = join(memory, basename(file));
  symlinkSync(file, path);
  // Of a version that had it here. Nothing in it outlives a process.
  rmSync(`${file}-lock`, { force: true });
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
