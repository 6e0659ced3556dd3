import type { Lease } from "@mooring/store";

/**
 * For how long each node's lease has not changed, by our own clock: the times in it are from other machines. An interruption of
 * this very process is no silence of theirs.
 */
export class Heartbeats {
  readonly #seen = new Map<string, { beat: string; at: number }>();
  readonly #maxIntervalMs: number;
  #observedAt: number | undefined;

  constructor(maxIntervalMs: number) {
    this.#maxIntervalMs = maxIntervalMs;
  }

  /**
   * Milliseconds of silence by node name. `now`: milliseconds since boot. A node without a lease is silent, too: a kubelet
   * that lives makes it anew when an operator has deleted it.
   */
  observe(nodes: readonly string[], leases: readonly Lease[], now: number): Map<string, number> {
    if (now - (this.#observedAt ?? now) > this.#maxIntervalMs) this.#seen.clear();
    this.#observedAt = now;
    const beats = new Map(
      leases.map(({ metadata, spec }) => [metadata.name, `${metadata.uid} ${spec?.renewTime ?? ""}`]),
    );
    const silence = new Map<string, number>();
    for (const name of nodes) {
      const seen = this.#seen.get(name);
      const beat = beats.get(name) ?? seen?.beat ?? "";
      if (seen?.beat !== beat) this.#seen.set(name, { beat, at: now });
      silence.set(name, seen?.beat === beat ? now - seen.at : 0);
    }
    for (const name of this.#seen.keys()) if (!silence.has(name)) this.#seen.delete(name);
    return silence;
  }
}
