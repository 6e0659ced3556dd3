import type { Most } from "./bounds.ts";

/** What takes up a place: a connection, or a request that lasts. */
export interface Holder {
  /** Empty while the client has not authenticated. */
  user: string;
  /** Whether it may be ended now, for the sake of others. */
  mayEnd(): boolean;
  end(): void;
}

/** Places of which there are only so many, and so many for one user. */
export class Places {
  readonly #most: Most;
  /** In the order in which they came. */
  readonly #holders = new Set<Holder>();

  constructor(most: Most) {
    this.#most = most;
  }

  add(holder: Holder): void {
    this.#holders.add(holder);
  }

  leave(holder: Holder): void {
    this.#holders.delete(holder);
  }

  /** More are taken than there are. */
  get isOverfull(): boolean {
    return this.#holders.size > this.#most.all;
  }

  hasTooMany(user: string): boolean {
    let count = 0;
    for (const holder of this.#holders) if (holder.user === user) count += 1;
    return count > this.#most.ofOne;
  }

  /** Ends the oldest one of a user, but not `spared`. False: there is none that may be ended. */
  endOneOf(user: string, spared: Holder): boolean {
    return this.#endOldest((each) => each !== spared && each.user === user);
  }

  /**
   * Ends the oldest one of those who have the most, but neither `spared` nor of any user who has less than the user of
   * `spared`. The service accounts of a namespace count together: a user who may make one may make a thousand. `busy`:
   * where none may be ended, then one that may not, of a user who has more than that.
   */
  endOneOfMost(spared: Holder, { busy = false } = {}): boolean {
    const counts = new Map<string, number>();
    for (const { user } of this.#holders) counts.set(groupOf(user), (counts.get(groupOf(user)) ?? 0) + 1);
    const own = counts.get(groupOf(spared.user)) ?? 0;
    const groups = [...counts].filter(([, count]) => count >= own).sort(([, a], [, b]) => b - a);
    const isOf = (group: string) => (each: Holder) => each !== spared && groupOf(each.user) === group;
    if (groups.some(([group]) => this.#endOldest(isOf(group)))) return true;
    const [most, count = 0] = groups[0] ?? [];
    return busy && most !== undefined && count > own && this.#endOldest(isOf(most), { busy });
  }

  #endOldest(isMeant: (holder: Holder) => boolean, { busy = false } = {}): boolean {
    for (const holder of this.#holders) {
      if (!isMeant(holder) || !(busy || holder.mayEnd())) continue;
      this.#holders.delete(holder);
      holder.end();
      return true;
    }
    return false;
  }
}

function groupOf(user: string): string {
  const [system, kind, namespace] = user.split(":");
  return system === "system" && kind === "serviceaccount" ? `${system}:${kind}:${namespace}` : user;
}
