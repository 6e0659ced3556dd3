/** `exclusive` excludes all others on the key; `shared` only exclusive ones. */
export type Mode = "shared" | "exclusive";

/** What an operation wants to lock: a key (`volume pvc-1`), alone or together with others that want it `shared`. */
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

interface Locked {
  exclusive: Operation | undefined;
  shared: Set<Operation>;
}

/**
 * Which operation has locked which object. Claiming is synchronous: between reading and taking nothing else runs.
 */
export class OperationLocks {
  readonly #locked = new Map<string, Locked>();

  /** The first operation under way that excludes one of these claims; undefined: all can be taken. */
  blocker(claims: readonly Claim[]): Operation | undefined {
    for (const { key, mode } of claims) {
      const locked = this.#locked.get(key);
      if (locked === undefined) continue;
      const blocking = locked.exclusive ?? (mode === "exclusive" ? [...locked.shared][0] : undefined);
      if (blocking !== undefined) return blocking;
    }
    return undefined;
  }

  /** Locks the claims for an operation, which {@link blocker} has found free; returns the function that unlocks them. */
  take(claims: readonly Claim[], operation: Operation): () => void {
    for (const { key, mode } of claims) {
      const locked = this.#locked.get(key) ?? { exclusive: undefined, shared: new Set() };
      this.#locked.set(key, locked);
      if (mode === "exclusive") locked.exclusive = operation;
      else locked.shared.add(operation);
    }
    return () => {
      for (const { key } of claims) this.#drop(key, operation);
    };
  }

  /** Operations under way, each once. */
  running(): Operation[] {
    const all = [...this.#locked.values()].flatMap(({ exclusive, shared }) => [
      ...(exclusive ? [exclusive] : []),
      ...shared,
    ]);
    return [...new Set(all)];
  }

  #drop(key: string, operation: Operation): void {
    const locked = this.#locked.get(key);
    if (locked === undefined) return;
    if (locked.exclusive === operation) locked.exclusive = undefined;
    locked.shared.delete(operation);
    if (locked.exclusive === undefined && locked.shared.size === 0) this.#locked.delete(key);
  }
}
