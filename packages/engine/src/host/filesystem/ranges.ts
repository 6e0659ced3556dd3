import type { Extent } from "./extents.ts";

/** A run of bytes. */
export interface Range {
  offset: number;
  length: number;
}

/** The part of a file that is read: bytes from `from` up to, but not including, `to`. */
export interface Window {
  from: number;
  to: number;
}

type Extents = AsyncIterable<Extent> | Iterable<Extent>;

/** The ranges of a file that may contain anything but zeros: ascending, apart from each other, inside of the window. */
export function allocatedRanges(extents: Extents, window: Window): AsyncIterable<Range> {
  return joined(marked([extents], window, ([place]) => place !== "zeros"));
}

/**
 * The ranges in which two files of one file system may differ; where one is shorter, it counts as zeros. Bytes that
 * are in the same place are the same bytes, whatever happened to the files: no history is needed.
 */
export function changedRanges(base: Extents, target: Extents, window: Window): AsyncIterable<Range> {
  return joined(marked([base, target], window, ([x, y]) => x === undefined || x !== y));
}

type Place = Extent["place"];

/** Divides the window where any of the files begins or ends an extent, and keeps the pieces that are wanted. */
async function* marked(
  files: readonly Extents[],
  { from, to }: Window,
  wanted: (places: readonly Place[]) => boolean,
): AsyncIterable<Range> {
  const cursors = files.map((extents) => new Cursor(extents));
  try {
    for (let offset = from; offset < to; ) {
      let until = to;
      const places: Place[] = [];
      for (const cursor of cursors) {
        // No promise where none is needed: there can be millions of pieces.
        if (cursor.isBefore(offset)) await cursor.moveTo(offset);
        places.push(cursor.placeOf(offset));
        until = Math.min(until, cursor.nextEdge(offset));
      }
      if (wanted(places)) yield { offset, length: until - offset };
      offset = until;
    }
  } finally {
    await Promise.all(cursors.map((cursor) => cursor.close()));
  }
}

/** One file's extents, read once, forwards. */
class Cursor {
  readonly #extents: AsyncIterator<Extent> | Iterator<Extent>;
  #current: Extent | undefined;
  #ended = false;

  constructor(extents: Extents) {
    this.#extents =
      Symbol.asyncIterator in extents ? extents[Symbol.asyncIterator]() : extents[Symbol.iterator]();
  }

  isBefore(offset: number): boolean {
    return !this.#ended && (this.#current === undefined || endOf(this.#current) <= offset);
  }

  async moveTo(offset: number): Promise<void> {
    while (this.isBefore(offset)) {
      const next = await this.#extents.next();
      if (next.done === true) this.#ended = true;
      this.#current = next.done === true ? undefined : next.value;
    }
  }

  placeOf(offset: number): Place {
    if (this.#current === undefined || offset < this.#current.offset) return "zeros";
    const { place } = this.#current;
    return typeof place === "number" ? place + (offset - this.#current.offset) : place;
  }

  nextEdge(offset: number): number {
    if (this.#current === undefined) return Number.POSITIVE_INFINITY;
    return offset < this.#current.offset ? this.#current.offset : endOf(this.#current);
  }

  async close(): Promise<void> {
    await this.#extents.return?.();
  }
}

const endOf = ({ offset, length }: Range): number => offset + length;

/** Makes one range of those that touch. */
async function* joined(ranges: AsyncIterable<Range>): AsyncIterable<Range> {
  let last: Range | undefined;
  for await (const range of ranges) {
    if (last !== undefined && endOf(last) === range.offset) {
      last = { offset: last.offset, length: last.length + range.length };
    } else {
      if (last !== undefined) yield last;
      last = range;
    }
  }
  if (last !== undefined) yield last;
}
