import type { StoreReport } from "../check/check-store.ts";
import { storeFile } from "../files.ts";
import { lockFolder } from "../lock.ts";
import { StoreOpenError } from "../open-error.ts";
import { copyStore } from "./copy-pages.ts";
import { openReader } from "./open-reader.ts";

/**
 * Copies the store in `folder` to a file and checks the copy, also while another process has the store: a reader is held
 * there meanwhile. Throws StoreOpenError (Damaged).
 */
export async function copyFolder(folder: string, target: string): Promise<StoreReport> {
  const release = await ourselvesOrReader(folder);
  try {
    return await copyStore(storeFile(folder), target);
  } finally {
    await release();
  }
}

async function ourselvesOrReader(folder: string): Promise<() => Promise<void>> {
  let pid: number | undefined;
  try {
    return await lockFolder(folder);
  } catch (error) {
    if (!(error instanceof StoreOpenError && error.reason === "Locked")) throw error;
    pid = error.pid;
  }
  // Nothing is read through it: a damaged page is met by the copy's check, which maps nothing.
  const root = openReader(folder, pid);
  const reader = root.useReadTransaction();
  return async () => {
    reader.done();
    await root.close();
  };
}
