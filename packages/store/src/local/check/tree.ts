import { type Damage, DamageError } from "./damage.ts";
import { type Meta, NO_PAGE, type TreeRecord } from "./meta-pages.ts";
import { HEADER_BYTES, type PageFile, readWide } from "./page-file.ts";

const BRANCH = 0x01;
const LEAF = 0x02;
const OVERFLOW = 0x04;
/** Flags of a node: its value is on pages of its own, or is the record of a tree. */
const BIG = 0x01;
/** Flag of a node whose value is a tree of its own (`F_SUBDATA` of LMDB). */
export const SUBTREE = 0x02;
const NODE_BYTES = 8;
/** Where a long value is: first page, its transaction, how many pages. */
const BIG_BYTES = 24;
/** A tree of more levels than this would not fit on any disk. */
const DEEPEST = 16;

/** One key and value of a page, with the flags of its node. */
export interface Entry {
  key: Buffer;
  value: Buffer;
  flags: number;
}

/** Whose file it is, what of it is in use, and what was found wrong. */
export interface Walk {
  file: PageFile;
  meta: Meta;
  /** A page in use has a 1. */
  used: Uint8Array;
  damage: Damage[];
}

/** What the walk has to know of a tree's keys. */
export interface TreeKind {
  /** Names for an operator which part a range of keys is: keys may be absent at the ends. */
  range(from: Buffer | undefined, to: Buffer | undefined): string;
  /** As `Buffer.compare`, which is the default. */
  compare?(a: Buffer, b: Buffer): number;
}

/** A tree that is being walked. */
interface Tree {
  walk: Walk;
  kind: TreeKind;
  seen: { branch: number; leaf: number; overflow: number; entries: number; broken: boolean };
}

interface Bounds {
  from: Buffer | undefined;
  to: Buffer | undefined;
}

interface Page extends Bounds {
  number: number;
  transaction: number;
  bytes: Buffer;
  nodes: number;
  level: number;
}

/**
 * All entries of a tree in order, every page of it checked: that it is inside the file, where it belongs, used once, not
 * newer than what refers to it, its nodes inside it, keys in order and between those above. What cannot be read is
 * written down, with the keys it lies between, and left out. Buffers are the caller's only until the next entry.
 */
export function* walkTree(walk: Walk, record: TreeRecord, kind: TreeKind): Generator<Entry> {
  const { meta } = walk;
  const tree: Tree = { walk, kind, seen: { branch: 0, leaf: 0, overflow: 0, entries: 0, broken: false } };
  if (record.root >= NO_PAGE) {
    if (record.entries !== 0) note(tree, {}, `is empty, and ${record.entries} entries were written`);
    return;
  }
  if (record.depth < 1 || record.depth > DEEPEST) return note(tree, {}, `has ${record.depth} levels`);
  const root = { number: record.root, level: record.depth, newest: meta.transaction };
  yield* walkPage(tree, root, { from: undefined, to: undefined });
  const { branch, leaf, overflow, entries, broken } = tree.seen;
  if (broken) return;
  if (entries !== record.entries)
    note(tree, {}, `has ${entries} entries, and ${record.entries} were written`);
  if (branch !== record.branchPages || leaf !== record.leafPages || overflow !== record.overflowPages)
    note(tree, {}, "has another number of pages than were written");
}

function note(tree: Tree, { from, to }: Partial<Bounds>, what: string): void {
  tree.seen.broken = true;
  tree.walk.damage.push({ where: tree.kind.range(from, to), what });
}

interface Reference {
  number: number;
  level: number;
  /** The transaction of the page that refers to it: a page is never newer than those above it. */
  newest: number;
}

function* walkPage(tree: Tree, reference: Reference, bounds: Bounds): Generator<Entry> {
  let page: Page;
  try {
    page = readPage(tree, reference, bounds);
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return note(tree, bounds, `page ${reference.number}: ${error.message}`);
  }
  if (page.level === 1) yield* leafEntries(tree, page);
  else yield* childEntries(tree, page);
}

/** Marks pages as used. Throws DamageError when one is none, or is used already. */
function take({ file, meta, used }: Walk, number: number, count: number): void {
  if (number < 2 || number + count - 1 > meta.lastPage)
    throw new DamageError(`is not among the ${meta.lastPage + 1} pages`);
  if ((number + count) * meta.pageSize > file.size)
    throw new DamageError(`the file ends before it, at ${file.size} bytes`);
  for (let at = number; at < number + count; at++) {
    if (used[at] !== 0) throw new DamageError("is used twice");
    used[at] = 1;
  }
}

function checkHeader(bytes: Buffer, { number, newest }: Omit<Reference, "level">): number {
  if (readWide(bytes, 0) !== number) throw new DamageError(`has the number of page ${readWide(bytes, 0)}`);
  const transaction = readWide(bytes, 8);
  if (transaction > newest)
    throw new DamageError(`is of transaction ${transaction}, newer than what refers to it`);
  return transaction;
}

function readPage({ walk, seen }: Tree, reference: Reference, bounds: Bounds): Page {
  const { number, level } = reference;
  const { pageSize } = walk.meta;
  take(walk, number, 1);
  // A copy: children and long values are read while its nodes are gone through.
  const bytes = Buffer.from(walk.file.read(number * pageSize, pageSize));
  const transaction = checkHeader(bytes, reference);
  const flags = bytes.readUInt16LE(18);
  if (flags !== (level === 1 ? LEAF : BRANCH)) throw new DamageError("is of another kind than it should be");
  const [lower, upper] = [bytes.readUInt16LE(20), bytes.readUInt16LE(22)];
  const nodes = lower >> 1;
  if (lower % 2 !== 0 || lower > upper || upper > pageSize - HEADER_BYTES || nodes < (level > 1 ? 2 : 1))
    throw new DamageError("has a broken index");
  if (level === 1) seen.leaf++;
  else seen.branch++;
  return { ...bounds, number, transaction, bytes, nodes, level };
}

interface Node {
  flags: number;
  key: Buffer;
  /** Where its value begins in the page. */
  at: number;
  /** Of a branch: the page below; of a leaf: the bytes of its value. */
  number: number;
}

/** The n-th node. Throws DamageError when it is not inside the page. */
function nodeOf({ bytes, level, nodes }: Page, index: number): Node {
  const start = bytes.readUInt16LE(HEADER_BYTES + 2 * index) + HEADER_BYTES;
  if (start < HEADER_BYTES + 2 * nodes || start + NODE_BYTES > bytes.length)
    throw new DamageError(`its entry ${index} is outside`);
  const words = [0, 2, 4, 6].map((at) => bytes.readUInt16LE(start + at)) as [number, number, number, number];
  const [low, high, flags, keyBytes] = words;
  const at = start + NODE_BYTES + keyBytes;
  const branch = level > 1;
  // Of a page number the flags are the highest two bytes.
  const number = low + high * 2 ** 16 + (branch ? flags * 2 ** 32 : 0);
  const valueBytes = branch ? 0 : (flags & BIG) === 0 ? number : BIG_BYTES;
  if (at + valueBytes > bytes.length) throw new DamageError(`its entry ${index} goes beyond it`);
  return { flags: branch ? 0 : flags, key: bytes.subarray(start + NODE_BYTES, at), at, number };
}

function requireOrder({ kind }: Tree, key: Buffer, before: Buffer | undefined, { from, to }: Bounds): void {
  const compare = kind.compare ?? Buffer.compare;
  if (before !== undefined && compare(before, key) >= 0) throw new DamageError("its keys are not in order");
  if ((from !== undefined && compare(key, from) < 0) || (to !== undefined && compare(key, to) >= 0))
    throw new DamageError("has keys that belong to another page");
}

function* childEntries(tree: Tree, page: Page): Generator<Entry> {
  const children: { number: number; from: Buffer | undefined }[] = [];
  try {
    let before: Buffer | undefined;
    for (let index = 0; index < page.nodes; index++) {
      const { key, number } = nodeOf(page, index);
      // The first key of a branch has no meaning: what is smaller than the second is there.
      if (index > 0) requireOrder(tree, key, before, page);
      children.push({ number, from: index === 0 ? page.from : key });
      if (index > 0) before = key;
    }
  } catch (error) {
    if (!(error instanceof DamageError)) throw error;
    return note(tree, page, `page ${page.number}: ${error.message}`);
  }
  for (const [index, { number, from }] of children.entries()) {
    const to = children[index + 1]?.from ?? page.to;
    yield* walkPage(tree, { number, level: page.level - 1, newest: page.transaction }, { from, to });
  }
}

function* leafEntries(tree: Tree, page: Page): Generator<Entry> {
  let before: Buffer | undefined;
  for (let index = 0; index < page.nodes; index++) {
    let key: Buffer | undefined;
    let entry: Entry;
    try {
      const node = nodeOf(page, index);
      key = node.key;
      requireOrder(tree, key, before, page);
      if ((node.flags & ~(BIG | SUBTREE)) !== 0)
        throw new DamageError(`its entry ${index} has flags that we never set`);
      entry = { key, value: readValue(tree, page, node), flags: node.flags & ~BIG };
    } catch (error) {
      if (!(error instanceof DamageError)) throw error;
      note(tree, key === undefined ? page : { from: key, to: key }, `page ${page.number}: ${error.message}`);
      continue;
    }
    before = entry.key;
    tree.seen.entries++;
    yield entry;
  }
}

/** A long value has pages of its own, with one header before the first. */
function readValue({ walk, seen }: Tree, page: Page, { flags, at, number: length }: Node): Buffer {
  if ((flags & BIG) === 0) return page.bytes.subarray(at, at + length);
  const { pageSize } = walk.meta;
  const first = readWide(page.bytes, at);
  const count = Math.floor((HEADER_BYTES - 1 + length) / pageSize) + 1;
  if (readWide(page.bytes, at + 16) !== count) throw new DamageError("has a long value of another length");
  take(walk, first, count);
  const bytes = walk.file.read(first * pageSize, count * pageSize);
  const transaction = checkHeader(bytes, { number: first, newest: page.transaction });
  if (transaction !== readWide(page.bytes, at + 8)) throw new DamageError(`page ${first} is an older one`);
  if (bytes.readUInt16LE(18) !== OVERFLOW || bytes.readUInt32LE(20) !== count)
    throw new DamageError(`page ${first} is not that of a long value`);
  seen.overflow += count;
  return bytes.subarray(HEADER_BYTES, HEADER_BYTES + length);
}
