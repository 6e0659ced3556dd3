/** What the beginning of an image says about what is in it. */
export interface Superblock {
  kind: "ext4" | "xfs" | "btrfs" | "LUKS" | "partitions" | "nothing" | "unknown";
  /** Bytes of the smallest piece that whoever wrote it reads and writes; absent where it does not say. */
  unit?: number;
}

/** So much of an image is read: btrfs begins at 64 KiB. */
export const HEAD_BYTES: number = 128 * 1024;
const EXT4_AT = 1024;
const BTRFS_AT = 65_536;
const UNKNOWN: Superblock = { kind: "unknown" };

type Sign = (head: Buffer) => Superblock | undefined;

const has = (head: Buffer, at: number, text: string): boolean =>
  head.subarray(at, at + text.length).equals(Buffer.from(text, "latin1"));

const SIGNS: readonly Sign[] = [
  (head) => (has(head, 0, "LUKS\xba\xbe") ? { kind: "LUKS" } : undefined),
  (head) => (has(head, 0, "XFSB") ? { kind: "xfs", unit: head.readUInt16BE(102) } : undefined),
  (head) =>
    head.readUInt16LE(EXT4_AT + 56) === 0xef53
      ? { kind: "ext4", unit: EXT4_AT << Math.min(head.readUInt32LE(EXT4_AT + 24), 6) }
      : undefined,
  (head) =>
    has(head, BTRFS_AT + 64, "_BHRfS_M")
      ? { kind: "btrfs", unit: head.readUInt32LE(BTRFS_AT + 144) }
      : undefined,
  // In the second sector, and so it says how large one is.
  (head) => (has(head, 512, "EFI PART") ? { kind: "partitions", unit: 512 } : undefined),
  (head) => (has(head, 4096, "EFI PART") ? { kind: "partitions", unit: 4096 } : undefined),
  // A table of the older kind counts in the sectors of its device, which are of 512 bytes where nobody says otherwise.
  (head) => (head.readUInt16LE(510) === 0xaa55 ? { kind: "partitions", unit: 512 } : undefined),
  (head) => (head.every((byte) => byte === 0) ? { kind: "nothing" } : undefined),
];

/** `head`: the first bytes of an image; missing ones are zeros. */
export function readSuperblock(head: Buffer): Superblock {
  const whole = Buffer.alloc(HEAD_BYTES);
  head.copy(whole);
  for (const sign of SIGNS) {
    const found = sign(whole);
    if (found !== undefined) return found;
  }
  return UNKNOWN;
}
