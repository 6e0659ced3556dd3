import { type Slot, slotKey } from "../kube/capacity-slot.ts";
import type { Segments } from "../topology/terms.ts";
import type { CapacityResult } from "./decide.ts";

interface StoredResult extends CapacityResult {
  slot: Slot;
  /** What was asked for. */
  parameters: string;
}

/** What the driver has reported about each slot, by key. */
export class CapacityResults {
  readonly #results = new Map<string, StoredResult>();
  /** Those that no change has made stale: each change reads only these, so that many at once cost no more than one. */
  readonly #fresh = new Set<string>();

  of(key: string, parameters: Record<string, string>): CapacityResult | undefined {
    const stored = this.#results.get(key);
    if (stored === undefined) return undefined;
    const { at, amount } = stored;
    return { at, amount, stale: stored.stale || stored.parameters !== JSON.stringify(parameters) };
  }

  /** Before the call: what changes while it runs makes the result stale. */
  asked(slot: Slot, at: number, parameters: Record<string, string>): void {
    const key = slotKey(slot);
    const amount = this.#results.get(key)?.amount;
    this.#results.set(key, { slot, at, amount, parameters: JSON.stringify(parameters), stale: false });
    this.#fresh.add(key);
  }

  received(key: string, amount: CapacityResult["amount"]): void {
    const stored = this.#results.get(key);
    if (stored !== undefined) this.#results.set(key, { ...stored, amount });
  }

  /** A volume came, went or grew in these places. Returns the keys of the results that this has made stale. */
  changed(isThere: (segments: Segments) => boolean): string[] {
    const stale: string[] = [];
    for (const key of this.#fresh) {
      const stored = this.#results.get(key);
      if (stored === undefined || !isThere(stored.slot.segments)) continue;
      this.#results.set(key, { ...stored, stale: true });
      this.#fresh.delete(key);
      stale.push(key);
    }
    return stale;
  }

  forget(key: string): void {
    this.#results.delete(key);
    this.#fresh.delete(key);
  }
}
