import { open } from "node:fs/promises";

/**
 * Writes to an image of 64 MiB in so many places that a copy of it is worth making before the barrier. They are all over
 * it: some seconds after a mount ext4 zeroes its inode tables, and what lies in these 4 MiB becomes one piece.
 */
export async function writeInPieces(image: string): Promise<void> {
  const file = await open(image, "r+");
  for (let piece = 0; piece < 2000; piece++) await file.write(Buffer.alloc(4096), 0, 4096, 32768 * piece);
  // What is not on the disk yet is in no piece of the file.
  await file.sync();
  await file.close();
}
