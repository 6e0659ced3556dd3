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
  #images = new Map<string, Entry>();
  /** Bytes that are being taken: the file system does not count them as used yet. */
  readonly #taking = new Map<string, number>();

  get promised(): Pick<PoolUsage, "promisedBytes" | "thickBytes"> {
    const sizes = (wanted: (entry: Entry) => boolean) =>
      [...this.#images].filter(([, entry]) => wanted(entry)).map(([id, { size }]) => [id, size] as const);
    return { promisedBytes: promisedBy(sizes(() => true)), thickBytes: promisedBy(sizes((e) => e.thick)) };
  }

  /** These are there. Of what is being made the wish is known already. */
  count(images: readonly Image[], isBeingMade: (id: string) => boolean): void {
    const making = [...this.#images].filter(([id]) => isBeingMade(id));
    const present = images.map(({ id, size, thick = false }) => [id, { size, thick }] as const);
    this.#images = new Map([...present, ...making]);
  }

  /** Promises it. Throws RESOURCE_EXHAUSTED, and promises nothing, when the rules do not let it in. */
  reserve(id: string, { size, thick, blocks }: Wanted, usage: PoolUsage, rules: BudgetRules): void {
    const before = this.#images.get(id);
    const more = promisedBy([[id, size - (before?.size ?? 0)]]);
    const others = [...this.#taking].reduce((sum, [other, bytes]) => (other === id ? sum : sum + bytes), 0);
    // Many at once cannot have the same bytes: what was read of the pool may be older than the last promise.
    const now = { ...usage, ...this.promised, freeBytes: usage.freeBytes - (blocks > 0 ? others : 0) };
    requireBudget(now, rules, { promised: more, thick: thick ? more : 0, blocks });
    this.#images.set(id, { size, thick });
    if (blocks > 0) this.#taking.set(id, blocks);
  }

  /** It has what it takes, or never will. */
  settled(id: string): void {
    this.#taking.delete(id);
  }

  /** Promised is what the image has, after all; undefined: nothing. */
  correct(id: string, image: Image | undefined): void {
    this.settled(id);
    if (image === undefined) this.#images.delete(id);
    else this.#images.set(id, { size: image.size, thick: image.thick ?? false });
  }
}
