import { mkdtempSync, readdirSync, readlinkSync, realpathSync, rmSync, symlinkSync } from "node:fs";
import { tmpdir } from "node:os";
import { basename, join } from "node:path";
import { open, type RootDatabase } from "lmdb";
import { storeFile } from "../files.ts";
import { prefixInMemory, tableOf, withTable } from "../open-root.ts";

/**
 * Opens a store that the process `pid` has open, so that LMDB there leaves what is read here as it is. Its table of readers
 * has no path any more, only that process' descriptor: LMDB finds it by a link beside a link to the store's file.
 */
export function openReader(folder: string, pid: number | undefined): RootDatabase {
  const table = pid === undefined ? undefined : openTable(folder, pid);
  // In another container, say: there it is beside the store, or nowhere.
  if (table === undefined) return openAt(withTable(storeFile(folder)));
  const links = mkdtempSync(join(tmpdir(), "mooring-reader-"));
  try {
    const file = storeFile(realpathSync(folder));
    const path = join(links, basename(file));
    symlinkSync(file, path);
    symlinkSync(table, tableOf(path));
    return openAt(path);
  } finally {
    rmSync(links, { recursive: true, force: true });
  }
}

/** The path of a process' descriptor. */
function openTable(folder: string, pid: number): string | undefined {
  const [prefix, name] = [`/${prefixInMemory(folder)}`, `/${basename(tableOf(storeFile(folder)))}`];
  const isTable = (target = "") => target.includes(prefix) && target.includes(name);
  const descriptors = `/proc/${pid}/fd`;
  return names(descriptors)
    .map((descriptor) => join(descriptors, descriptor))
    .find((path) => isTable(target(path)));
}

function names(folder: string): string[] {
  try {
    return readdirSync(folder);
  } catch {
    // Of another user, or no process of this container.
    return [];
  }
}

function target(link: string): string | undefined {
  try {
    return readlinkSync(link);
  } catch {
    // Closed in between.
    return undefined;
  }
}

function openAt(path: string): RootDatabase {
  return open({ path, readOnly: true, overlappingSync: false, maxDbs: 8 });
}
