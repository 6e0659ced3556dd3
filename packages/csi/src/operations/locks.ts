/** `exclusive` excludes all others on the key; `shared` only exclusive ones. */
export type Mode = "shared" | "exclusive";

/** A key, and how it is wanted. */
export interface Claim {
  key: string;
  mode: Mode;
}

/** An operation under way. */
export interface Operation {
  /** Method and object, for messages: `CreateVolume pvc-1`. */
  description: string;
  /** Equal for requests that ask for the same. */
  fingerprint: string;
  /** Milliseconds since the epoch. */
  startedAt: number;
}

interface Held {
  exclusive: Operation | undefined;
  shared: Set<Operation>;
}

/**
 * Which operation holds which object. Claiming is synchronous: between looking and taking nothing else runs.
 */
export class OperationLocks {
  readonly #held = new Map<string, Held>();

  /** The operation that stands in the way of these claims. */
  blocker(claims: readonly Claim[]): Operation | undefined {
    for (const { key, mode } of claims) {
      const held = this.#held.get(key);
      if (held === undefined) continue;
      const blocking = held.exclusive ?? (mode === "exclusive" ? [...held.shared][0] : undefined);
      if (blocking !== undefined) return blocking;
    }
    return undefined;
  }

  /** Takes the claims for an operation that nothing blocks; returns their release. */
  take(claims: readonly Claim[], operation: Operation): () => void {
    for (const { key, mode } of claims) {
      const held = this.#held.get(key) ?? { exclusive: undefined, shared: new Set() };
      this.#held.set(key, held);
      if (mode === "exclusive") held.exclusive = operation;
      else held.shared.add(operation);
    }
    return () => {
      for (const { key } of claims) this.#drop(key, operation);
    };
  }

  /** Operations under way, each once. */
  running(): Operation[] {
    const all = [...this.#held.values()].flatMap(({ exclusive, shared }) => [
      ...(exclusive ? [exclusive] : []),
      ...shared,
    ]);
    return [...new Set(all)];
  }

  #drop(key: string, operation: Operation): void {
    const held = this.#held.get(key);
    if (held === undefined) return;
    if (held.exclusive === operation) held.exclusive = undefined;
    held.shared.delete(operation);
    if (held.exclusive === undefined && held.shared.size === 0) this.#held.delete(key);
  }
}
