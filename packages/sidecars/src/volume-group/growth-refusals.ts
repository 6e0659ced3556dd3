import { Backoff, type BackoffOptions } from "../common/backoff.ts";

/** Why the API server does not let a claim ask for more. */
export interface GrowthRefusal {
  /** What was asked for: another size may be asked for at once. */
  size: string;
  message: string;
  /** Milliseconds until the same may be asked again. */
  backoffMs: number;
}

/** Refused growth by the uid of the claim: a quota, or a rule of the cluster. Such things change without a sign. */
export class GrowthRefusals {
  readonly #refusals = new Map<string, { size: string; message: string }>();
  readonly #backoff: Backoff;

  constructor(options: BackoffOptions) {
    this.#backoff = new Backoff(options);
  }

  note(uid: string, size: string, message: string): void {
    this.#refusals.set(uid, { size, message });
    this.#backoff.fail(uid, size);
  }

  forget(uid: string): void {
    this.#refusals.delete(uid);
    this.#backoff.reset(uid);
  }

  /** Of these claims. */
  of(uids: readonly string[]): Map<string, GrowthRefusal> {
    return new Map(
      uids.flatMap((uid) => {
        const refused = this.#refusals.get(uid);
        return refused === undefined
          ? []
          : [[uid, { ...refused, backoffMs: this.#backoff.remaining(uid, refused.size) }]];
      }),
    );
  }
}
