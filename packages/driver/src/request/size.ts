import { CsiError, type v1 } from "@mooring/csi";

/** Sizes are whole sectors: loop devices of images always have 4096-byte sectors. */
export const SECTOR = 4096n;
/** Made when the caller leaves the size to us. */
export const DEFAULT_SIZE = 1024n ** 3n;
/** Numbers in objects are exact up to here. */
const MAXIMUM_SIZE = 8n * 1024n ** 5n;

/** A capacity range as recorded; 0: not set. */
export interface SizeRange {
  requiredBytes: bigint;
  limitBytes: bigint;
}

/** Checks a range by itself. An absent one leaves everything to us. */
export function parseRange(range: v1.CapacityRange | undefined): SizeRange {
  const { requiredBytes = 0n, limitBytes = 0n } = range ?? {};
  if (requiredBytes < 0n || limitBytes < 0n) {
    throw CsiError.invalidArgument("capacity_range must not be negative");
  }
  if (limitBytes !== 0n && requiredBytes > limitBytes) {
    throw CsiError.invalidArgument(
      `capacity_range.required_bytes ${requiredBytes} is above limit_bytes ${limitBytes}`,
    );
  }
  return { requiredBytes, limitBytes };
}

/**
 * The size a volume gets: at least `required_bytes` and `minimum`, at most `limit_bytes`, in whole sectors. Throws
 * OUT_OF_RANGE when there is none.
 */
export function chooseSize(range: SizeRange, minimum: bigint, fallback: bigint = DEFAULT_SIZE): bigint {
  const { requiredBytes, limitBytes } = range;
  const ceiling = limitBytes === 0n ? MAXIMUM_SIZE : limitBytes;
  const wanted = requiredBytes === 0n ? min(max(fallback, minimum), roundDown(ceiling)) : requiredBytes;
  const size = roundUp(max(wanted, minimum));
  if (size > ceiling) {
    throw CsiError.outOfRange(
      `no size fits: at least ${max(requiredBytes, minimum)} bytes in whole ${SECTOR}-byte sectors, at most ${ceiling}`,
      { hint: `The smallest volume of this kind has ${roundUp(minimum)} bytes.` },
    );
  }
  return size;
}

/** Up to the next size that an image can have. Bytes. */
export function roundUp(bytes: bigint): bigint {
  return ((bytes + SECTOR - 1n) / SECTOR) * SECTOR;
}
function roundDown(bytes: bigint): bigint {
  return (bytes / SECTOR) * SECTOR;
}
/** The larger of the two. */
export function max(a: bigint, b: bigint): bigint {
  return a > b ? a : b;
}
function min(a: bigint, b: bigint): bigint {
  return a < b ? a : b;
}
