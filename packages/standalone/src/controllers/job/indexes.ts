/** The indexes of a text as `status.completedIndexes` has it (`0-2,5`), those below `limit`. */
export function parseIndexes(text: string | undefined, limit: number): Set<number> {
  const indexes = new Set<number>();
  for (const range of (text ?? "").split(",")) {
    const [, first, last = first] = /^(\d+)(?:-(\d+))?$/.exec(range) ?? [];
    if (first === undefined) continue;
    for (let index = Number(first); index <= Number(last) && index < limit; index += 1) indexes.add(index);
  }
  return indexes;
}

/** The text of the indexes: three and more that follow each other as `0-2`, and two as `0,1`. */
export function formatIndexes(indexes: Iterable<number>): string {
  const ranges: [first: number, last: number][] = [];
  for (const index of [...indexes].sort((a, b) => a - b)) {
    const range = ranges.at(-1);
    if (range !== undefined && range[1] === index - 1) range[1] = index;
    else ranges.push([index, index]);
  }
  return ranges.map(rangeText).join(",");
}

function rangeText([first, last]: [number, number]): string {
  if (first === last) return String(first);
  return last === first + 1 ? `${first},${last}` : `${first}-${last}`;
}

/** The first `count` indexes below `limit` that are not in `taken`. */
export function freeIndexes(count: number, limit: number, taken: ReadonlySet<number>): number[] {
  const free: number[] = [];
  for (let index = 0; index < limit && free.length < count; index += 1)
    if (!taken.has(index)) free.push(index);
  return free;
}
