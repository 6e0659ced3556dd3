import { open, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import type { PoolBackend } from "../pools/backend.ts";
import type { Image } from "../pools/image.ts";

/** The bytes of images, as a workload that uses one sees them. */
export interface Contents {
  write(pool: PoolBackend, image: Image, text: string): Promise<void>;
  read(pool: PoolBackend, image: Image, length: number): Promise<string>;
  /** Bytes of the device. */
  sizeOf(pool: PoolBackend, image: Image): Promise<number>;
}

/** `blocks`: through a device for each access; else in a file of the image's folder. */
export function contents(blocks: boolean): Contents {
  return blocks ? OF_DEVICES : OF_FOLDERS;
}

async function onDevice<T>(
  { devices }: PoolBackend,
  image: Image,
  work: (device: { path: string; sizeBytes: number }) => Promise<T>,
): Promise<T> {
  const device = await devices.attach(image);
  try {
    return await work(device);
  } finally {
    await devices.detach(device);
  }
}

const OF_DEVICES: Contents = {
  write: (pool, image, text) =>
    onDevice(pool, image, async ({ path }) => {
      const handle = await open(path, "r+");
      try {
        await handle.write(text, 0);
        await handle.sync();
      } finally {
        await handle.close();
      }
    }),
  read: (pool, image, length) =>
    onDevice(pool, image, async ({ path }) => {
      const handle = await open(path, "r");
      try {
        const { buffer, bytesRead } = await handle.read(Buffer.alloc(length), 0, length, 0);
        return buffer.toString("utf8", 0, bytesRead);
      } finally {
        await handle.close();
      }
    }),
  sizeOf: (pool, image) => onDevice(pool, image, async ({ sizeBytes }) => sizeBytes),
};

const OF_FOLDERS: Contents = {
  write: (_, { path }, text) => writeFile(join(path, "data"), text),
  read: async (_, { path }, length) => (await readFile(join(path, "data"), "utf8")).slice(0, length),
  sizeOf: async (_, { size }) => size,
};
