import { randomBytes } from "node:crypto";
import { mkdir, open, rename, rm } from "node:fs/promises";
import { basename, dirname, join } from "node:path";
import { naming, writeFailure } from "@mooring/store";

/**
 * Writes a file that only its owner may read, whole or not at all: a crash leaves the old content or the new one.
 * The temporary file is created with its final mode, so the content is never readable by others.
 */
export async function writePrivateFile(path: string, content: string, mode = 0o600): Promise<void> {
  const folder = dirname(path);
  const temporary = join(folder, `.${basename(path)}.${randomBytes(6).toString("hex")}`);
  const file = await naming(path, async () => {
    await mkdir(folder, { recursive: true, mode: 0o700 });
    return open(temporary, "wx", mode);
  });
  try {
    await file.writeFile(content);
    await file.sync();
    await file.close();
    await rename(temporary, path);
  } catch (error) {
    await file.close().catch(() => {});
    await rm(temporary, { force: true });
    throw writeFailure(path, error);
  }
  const directory = await open(folder, "r");
  try {
    await directory.sync();
  } finally {
    await directory.close();
  }
}
