import type { PoolUsage } from "./backend.ts";
import { type BudgetRules, promisedBy, requireBudget } from "./budget.ts";
import type { Image } from "./image.ts";

/** What an image is to have. */
interface Wanted {
  /** Bytes of the volume. */
  size: number;
  thick: boolean;
  /** Bytes that it takes of the pool at once. */
  blocks: number;
}

type Entry = Pick<Wanted, "size" | "thick">;

/** What a pool has promised: to the images that it has, and to those being made. */
export class Ledger {
  readonly #images = new Map<string, Entry>();
  /** Bytes that are being taken: the file system does not count them as used yet. */
  readonly #taking = new Map<string, number>();

  /** Kept as images come and go: with ten thousand of them a sum for each call is most of what a call costs. */
  readonly #sums = { promisedBytes: 0, thickBytes: 0 };

  get promised(): Pick<PoolUsage, "promisedBytes" | "thickBytes"> {
    return { ...this.#sums };
  }

  #put(id: string, entry: Entry | undefined): void {
    this.#add(id, this.#images.get(id), -1);
    this.#add(id, entry, 1);
    if (entry === undefined) this.#images.delete(id);
    else this.#images.set(id, entry);
  }

  #add(id: string, entry: Entry | undefined, sign: 1 | -1): void {
    if (entry === undefined) return;
    const bytes = sign * promisedBy([[id, entry.size]]);
    this.#sums.promisedBytes += bytes;
    if (entry.thick) this.#sums.thickBytes += bytes;
  }

  /**
   * To be called before the images are listed; what it returns takes the list. Of what is being made, or was made or removed
   * while they were listed, more is known already: the list may be from before.
   */
  beginCount(isBeingMade: (id: string) => boolean): (images: readonly Image[]) => void {
    const settled = new Set([...this.#images.keys()].filter((id) => !isBeingMade(id)));
    return (images) => {
      const isWish = (id: string): boolean => this.#images.has(id) && (!settled.has(id) || isBeingMade(id));
      const present = new Set(images.map(({ id }) => id));
      for (const id of this.#images.keys()) if (!isWish(id) && !present.has(id)) this.#put(id, undefined);
      const isGone = (id: string): boolean => settled.has(id) && !this.#images.has(id);
      const gone = new Set(images.map(({ id }) => id).filter(isGone));
      for (const { id, size, thick = false } of images)
        if (!isWish(id) && !gone.has(id)) this.#put(id, { size, thick });
    };
  }

  /** Promises it. Throws RESOURCE_EXHAUSTED, and promises nothing, when the rules do not let it in. */
  reserve(id: string, { size, thick, blocks }: Wanted, usage: PoolUsage, rules: BudgetRules): void {
    const before = this.#images.get(id);
    const more = promisedBy([[id, size - (before?.size ?? 0)]]);
    const others = [...this.#taking].reduce((sum, [other, bytes]) => (other === id ? sum : sum + bytes), 0);
    // Many at once cannot have the same bytes: what was read of the pool may be older than the last promise.
    const now = { ...usage, ...this.promised, freeBytes: usage.freeBytes - (blocks > 0 ? others : 0) };
    requireBudget(now, rules, { promised: more, thick: thick ? more : 0, blocks });
    this.#put(id, { size, thick });
    if (blocks > 0) this.#taking.set(id, blocks);
  }

  /** It has what it takes, or never will. */
  settled(id: string): void {
    this.#taking.delete(id);
  }

  /** Promised is what the image has, after all; undefined: nothing. */
  correct(id: string, image: Image | undefined): void {
    this.settled(id);
    this.#put(id, image && { size: image.size, thick: image.thick ?? false });
  }
}
