import { open } from "node:fs/promises";
import { EngineError } from "../../errors.ts";

const POSITION = 1024;
const LENGTH = 1024;
const MAGIC = 0xef53;
const INCOMPAT_64BIT = 0x80;
const LARGEST_BLOCK_SHIFT = 6;
const ERRORS_PANIC = 3;
/** Where `s_mount_opts` begins: text, with NUL behind it. */
const MOUNT_OPTIONS = 0x200;

async function readSuperblock(device: string): Promise<Buffer> {
  const handle = await open(device, "r");
  try {
    const { buffer, bytesRead } = await handle.read(Buffer.alloc(LENGTH), 0, LENGTH, POSITION);
    const sound =
      bytesRead === LENGTH &&
      buffer.readUInt16LE(0x38) === MAGIC &&
      buffer.readUInt32LE(0x18) <= LARGEST_BLOCK_SHIFT;
    if (sound) return buffer;
    throw new EngineError("INTERNAL", `cannot read the ext4 superblock of ${device}`);
  } finally {
    await handle.close();
  }
}

/**
 * How large the ext4 (ext2, ext3) on a device is, from its primary superblock (struct ext4_super_block). Also while it
 * is mounted: the kernel changes the superblock in the device's own cache, which is what is read here.
 */
export async function readExt4Superblock(device: string): Promise<{ blocks: number; blockSize: number }> {
  const buffer = await readSuperblock(device);
  const wide = (buffer.readUInt32LE(0x60) & INCOMPAT_64BIT) !== 0;
  const high = wide ? buffer.readUInt32LE(0x150) : 0;
  return {
    blocks: high * 2 ** 32 + buffer.readUInt32LE(0x4),
    blockSize: 1024 << buffer.readUInt32LE(0x18),
  };
}

/** An ext4 that has the kernel panic when it finds a fault in it, or that might: it has mount options of its own. */
export async function hasOwnErrorPolicy(device: string): Promise<boolean> {
  const buffer = await readSuperblock(device);
  return buffer.readUInt16LE(0x3c) === ERRORS_PANIC || buffer[MOUNT_OPTIONS] !== 0;
}
