import { open, rename, rm } from "node:fs/promises";
import { isDiskFull, writeFailure } from "./disk-errors.ts";

/**
 * Replaces a record as a whole, or makes it: a crash leaves the one before. A full disk takes no second file, and must keep
 * nobody from undoing what the record is about: there the text goes into the blocks that the file has, with blanks behind
 * it, which its readers must not mind. Throws errors that name the file.
 */
export async function replaceFile(path: string, text: string, mode = 0o600): Promise<void> {
  const temporary = `${path}.new`;
  try {
    await write(temporary, text, mode);
    await rename(temporary, path);
  } catch (error) {
    await rm(temporary, { force: true }).catch(() => {});
    if (!isDiskFull(error) || !(await writeOver(path, text).catch(() => false)))
      throw writeFailure(path, error);
  }
}

async function write(path: string, text: string, mode: number): Promise<void> {
  const file = await open(path, "w", mode);
  try {
    await file.writeFile(text);
    await file.sync();
  } finally {
    await file.close();
  }
}

/**
 * In one call, after which the file has the one text or the other, however this process ends. False when it would need more
 * than it has.
 */
async function writeOver(path: string, text: string): Promise<boolean> {
  const file = await open(path, "r+");
  try {
    const { size, blocks } = await file.stat();
    const bytes = Buffer.from(text.padEnd(size));
    if (bytes.length > blocks * 512) return false;
    const { bytesWritten } = await file.write(bytes, 0, bytes.length, 0);
    await file.datasync();
    return bytesWritten === bytes.length;
  } finally {
    await file.close();
  }
}
