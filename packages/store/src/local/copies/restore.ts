import { link, mkdtemp, readdir, rename, rm } from "node:fs/promises";
import { join } from "node:path";
import { failpoint } from "../../runtime/failpoint.ts";
import { makeFolder } from "../../runtime/make-folder.ts";
import type { StoreReport } from "../check/check-store.ts";
import { ObjectDatabase } from "../database.ts";
import { finishFiles, sizeOf, storeFile, syncFolder } from "../files.ts";
import { lockFolder } from "../lock.ts";
import { copyStore } from "./copy-pages.ts";

const afterCopy = failpoint("store/restore/copied");
const afterKeep = failpoint("store/restore/old-kept");

/** What `restore` did: the report of the copy that is in force now. */
export interface Restored extends StoreReport {
  /** Where the file is now that was there before; undefined when there was none. */
  kept: string | undefined;
}

/**
 * Puts a copy in the place of the store in `folder`. What is there is kept beside it, whatever state it is in; there is
 * one or the other at any moment. Throws StoreOpenError: Locked while a process has the store, Damaged when the copy is.
 */
export async function restoreStore(folder: string, copy: string): Promise<Restored> {
  await makeFolder(folder, 0o700);
  const unlock = await lockFolder(folder);
  try {
    await dropUnfinished(folder);
    const working = await mkdtemp(join(folder, "restoring-"));
    try {
      const report = await copyStore(copy, storeFile(working));
      const database = await ObjectDatabase.open({ folder: working });
      await database.beginAnew().finally(() => database.close());
      afterCopy();
      const file = storeFile(folder);
      const kept = `${file}.before-${new Date().toISOString().replace(/[:.]/g, "-")}`;
      const present = (await sizeOf(file)) !== undefined;
      if (present) await link(file, kept);
      afterKeep();
      // No process may take the locks of the file that goes for those of the one that comes.
      await rm(`${file}-lock`, { force: true });
      await rename(storeFile(working), file);
      await syncFolder(folder);
      await finishFiles(folder);
      return { ...report, kept: present ? kept : undefined };
    } finally {
      await rm(working, { recursive: true, force: true });
    }
  } finally {
    await unlock();
  }
}

/** What a restore that was killed has left: the store was not touched then, or is the restored one already. */
async function dropUnfinished(folder: string): Promise<void> {
  for (const name of await readdir(folder))
    if (name.startsWith("restoring-")) await rm(join(folder, name), { recursive: true, force: true });
}
