import { type FileHandle, open, rename, rm } from "node:fs/promises";
import { dirname } from "node:path";
import { checkStore, type StoreReport } from "../check/check-store.ts";
import { DamageError } from "../check/damage.ts";
import { newestMeta } from "../check/meta-pages.ts";
import { PageFile } from "../check/page-file.ts";
import { damaged, syncFolder } from "../files.ts";

/** Bytes copied at once. */
const CHUNK = 1024 ** 2;
/** A head may be caught while it is written: it is read again. */
const ATTEMPTS = 5;

/** Both heads, from one read, and where the pages that they speak of end. */
interface Heads {
  bytes: Buffer;
  end: number;
}

function readHeads(path: string): Heads {
  for (let attempt = 1; ; attempt++) {
    const file = new PageFile(path);
    try {
      const { pageSize, lastPage } = newestMeta(file);
      const bytes = Buffer.from(file.read(0, 2 * pageSize));
      const end = Math.min(file.size, (lastPage + 1) * pageSize);
      return { bytes, end };
    } catch (error) {
      if (!(error instanceof DamageError) || attempt === ATTEMPTS) throw error;
    } finally {
      file.close();
    }
  }
}

async function copyBytes(from: FileHandle, to: FileHandle, start: number, end: number): Promise<void> {
  const buffer = Buffer.allocUnsafe(CHUNK);
  for (let at = start; at < end; ) {
    const { bytesRead } = await from.read(buffer, 0, Math.min(CHUNK, end - at), at);
    if (bytesRead === 0) throw new DamageError("the file has become shorter while it was read");
    await to.writeFile(buffer.subarray(0, bytesRead));
    at += bytesRead;
  }
}

/**
 * Copies a store's file to `target` under a temporary name, reads the copy from end to end, and renames it. Another process
 * may write to the store meanwhile, as long as a reader is open: LMDB leaves the pages of the state that was the newest
 * when the copy began, and the copy has the heads of that moment. Returns what is in the copy. Throws StoreOpenError
 * (Damaged), which leaves no copy.
 */
export async function copyStore(source: string, target: string): Promise<StoreReport> {
  const temporary = `${target}.new-${process.pid}`;
  try {
    const { bytes, end } = readHeads(source);
    const [from, to] = [await open(source, "r"), await open(temporary, "w", 0o600)];
    try {
      await to.writeFile(bytes);
      await copyBytes(from, to, bytes.length, end);
      await to.sync();
    } finally {
      await Promise.all([from.close(), to.close()]);
    }
    const report = await checkStore(temporary);
    if (report.damage.length > 0) throw damaged(source, report.damage);
    await rename(temporary, target);
    await syncFolder(dirname(target));
    return report;
  } catch (error) {
    await rm(temporary, { force: true });
    if (error instanceof DamageError) throw damaged(source, [{ where: "the file", what: error.message }]);
    throw error;
  }
}
