/** Of images, and of the files behind pools: a loop device would leave out what is less than one at a file's end. */
const SECTOR_BYTES = 4096;

/** The size of the file that has at least so many bytes. */
export function wholeSectors(bytes: number): number {
  return Math.ceil(bytes / SECTOR_BYTES) * SECTOR_BYTES;
}
