import { open, rm } from "node:fs/promises";

/** A new sparse file of zeros, on disk when this resolves. An old one of the name is replaced. */
export async function writeSparse(path: string, size: number): Promise<void> {
  await rm(path, { force: true });
  const handle = await open(path, "wx", 0o600);
  try {
    await handle.truncate(size);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** Sets the size of a file and syncs its data. */
export async function resizeFile(path: string, size: number): Promise<void> {
  const handle = await open(path, "r+");
  try {
    await handle.truncate(size);
    await handle.sync();
  } finally {
    await handle.close();
  }
}

/** What any process has written into the file is on disk when this resolves. */
export async function syncFile(path: string): Promise<void> {
  const handle = await open(path, "r");
  try {
    await handle.sync();
  } finally {
    await handle.close();
  }
}
