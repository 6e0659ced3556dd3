import { DamageError } from "./damage.ts";
import { readWide } from "./page-file.ts";
import type { Entry, TreeKind, Walk } from "./tree.ts";

/** Keys are transactions. */
export const FREE_LIST: TreeKind = {
  range: () => "the list of free pages",
  compare: (a, b) => (a.length === 8 && b.length === 8 ? readWide(a, 0) - readWide(b, 0) : -1),
};

/**
 * Pages that a record of the free list gives away, checked to be in use nowhere: LMDB would write over them. A record is a
 * count and so many integers: a page, or minus a number and the first of that many pages, or 0 for a place left empty.
 */
export function takeFree({ meta, used }: Walk, { key, value }: Entry): void {
  if (key.length !== 8 || value.length < 8 || value.length % 8 !== 0)
    throw new DamageError("a record of the free list is none");
  const count = readWide(value, 0);
  if (count > value.length / 8 - 1) throw new DamageError("a record of the free list is truncated");
  let run = 1;
  for (let index = 1; index <= count; index++) {
    const word = Number(value.readBigInt64LE(index * 8));
    if (word < 0) run = -word;
    if (word <= 0) continue;
    for (let page = word; page < word + run; page++) {
      if (page < 2 || page > meta.lastPage)
        throw new DamageError(`the free list has page ${page}, which is none`);
      if (used[page] !== 0) throw new DamageError(`the free list has page ${page}, which is in use`);
      used[page] = 1;
    }
    run = 1;
  }
}
