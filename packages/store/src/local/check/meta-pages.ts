import { DamageError } from "./damage.ts";
import { type PageFile, readWide } from "./page-file.ts";

/** LMDB's record of a tree (`MDB_db`). */
export interface TreeRecord {
  flags: number;
  depth: number;
  branchPages: number;
  leafPages: number;
  overflowPages: number;
  entries: number;
  /** Page number; {@link NO_PAGE} for an empty tree. */
  root: number;
}

/** The state that a transaction has committed (`MDB_meta`). */
export interface Meta {
  transaction: number;
  pageSize: number;
  lastPage: number;
  mapBytes: number;
  free: TreeRecord;
  main: TreeRecord;
}

/** Length of a tree's record in a page, in bytes. */
export const TREE_BYTES = 48;
/** What LMDB writes as the root of an empty tree: all bits, as a double. */
export const NO_PAGE: number = 2 ** 64;

const MAGIC = 0xbeefc0de;
const VERSION = 2;
const META_PAGE = 0x08;
const PAGE_SIZES = new Set([4096, 8192, 16384, 32768]);
/** More address space than a process has. */
const MOST_BYTES = 2 ** 46;

/** Where the fields are in a meta page. */
const AT = {
  flags: 18,
  magic: 24,
  version: 28,
  map: 40,
  free: 48,
  main: 96,
  lastPage: 144,
  transaction: 152,
};
const META_BYTES = 168;

/** Reads a tree's record that begins at `offset`; its numbers are little-endian, as LMDB writes them. */
export function readTree(buffer: Buffer, offset: number): TreeRecord {
  return {
    flags: buffer.readUInt16LE(offset + 4),
    depth: buffer.readUInt16LE(offset + 6),
    branchPages: readWide(buffer, offset + 8),
    leafPages: readWide(buffer, offset + 16),
    overflowPages: readWide(buffer, offset + 24),
    entries: readWide(buffer, offset + 32),
    root: readWide(buffer, offset + 40),
  };
}

function readMeta(file: PageFile, slot: number, pageSize: number): Meta {
  const page = file.read(slot * pageSize, META_BYTES);
  const wrong = (what: string) => new DamageError(`its head (page ${slot}) ${what}`);
  if (readWide(page, 0) !== slot || page.readUInt16LE(AT.flags) !== META_PAGE) throw wrong("is not one");
  if (page.readUInt32LE(AT.magic) !== MAGIC) throw wrong("is not that of a database");
  if (page.readUInt32LE(AT.version) !== VERSION) throw wrong("has another version than LMDB's");
  const meta: Meta = {
    transaction: readWide(page, AT.transaction),
    // LMDB keeps the page size in a field that its free list has no other use for.
    pageSize: page.readUInt32LE(AT.free),
    lastPage: readWide(page, AT.lastPage),
    mapBytes: readWide(page, AT.map),
    free: readTree(page, AT.free),
    main: readTree(page, AT.main),
  };
  if (meta.pageSize !== pageSize) throw wrong(`speaks of pages of ${meta.pageSize} bytes`);
  if (meta.mapBytes > MOST_BYTES || meta.mapBytes % pageSize !== 0)
    throw wrong(`wants ${meta.mapBytes} bytes mapped`);
  return meta;
}

/**
 * The newest committed state. Transactions write the two heads in turn, so that the numbers in them differ by one: a
 * head whose number has changed would otherwise silently bring back the state before. Throws DamageError.
 */
export function newestMeta(file: PageFile): Meta {
  const pageSize = file.read(0, META_BYTES).readUInt32LE(AT.free);
  if (!PAGE_SIZES.has(pageSize)) throw new DamageError("its first page is not that of a database");
  const metas = [readMeta(file, 0, pageSize), readMeta(file, 1, pageSize)] as const;
  const [even, odd] = metas.map(({ transaction }) => transaction) as [number, number];
  const fresh = even === 0 && odd === 0;
  if (!fresh && (even % 2 !== 0 || odd % 2 !== 1 || Math.abs(even - odd) !== 1))
    throw new DamageError(`its two heads (transactions ${even} and ${odd}) do not follow each other`);
  if (metas[0].free.flags !== metas[1].free.flags || metas[0].main.flags !== metas[1].main.flags)
    throw new DamageError("its two heads disagree about what kind of database it is");
  const newest = odd > even ? metas[1] : metas[0];
  if (newest.mapBytes < (newest.lastPage + 1) * pageSize)
    throw new DamageError(`its head speaks of ${newest.lastPage} pages, more than are mapped`);
  return newest;
}
