import type { CustomResourceDefinition } from "./types.ts";

/** What became of the kind of a definition. */
export type KindChange =
  | { do: "serve" | "freeze"; crd: CustomResourceDefinition }
  | { do: "withdraw"; name: string };

/** A change, and how many there have been with it. */
export interface CountedChange {
  count: number;
  change?: KindChange;
}

/** The kinds of definitions as they are served here, for threads that serve the same. */
export class KindChanges {
  readonly #present = new Map<string, KindChange>();
  readonly #followers = new Set<(change: CountedChange) => void>();
  #count = 0;

  /** How many changes there have been. */
  get count(): number {
    return this.#count;
  }

  /** Reports it to all followers at once: before a client can know of it by the definition's status. */
  note(change: KindChange): void {
    this.#count += 1;
    if (change.do === "withdraw") this.#present.delete(change.name);
    else this.#present.set(change.crd.metadata.name, change);
    for (const follower of this.#followers) follower({ count: this.#count, change });
  }

  /** Reports what there is, then every change; returns how to stop. */
  follow(follower: (change: CountedChange) => void): () => void {
    for (const change of this.#present.values()) follower({ count: this.#count, change });
    follower({ count: this.#count });
    this.#followers.add(follower);
    return () => this.#followers.delete(follower);
  }
}
