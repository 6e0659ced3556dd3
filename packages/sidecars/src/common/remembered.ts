import type { KubeObject } from "@mooring/store";

/** Which UID a controller remembers something about, by key: an object that is gone cannot say its own. */
export class Remembered {
  readonly #uids = new Map<string, string>();
  readonly #uidNow: (key: string) => string | undefined;
  readonly #forget: (uid: string) => void;

  /** `uidNow`: of the object that has the key now, while what is remembered about it may be needed. */
  constructor(uidNow: (key: string) => string | undefined, forget: (uid: string) => void) {
    this.#uidNow = uidNow;
    this.#forget = forget;
  }

  /** Something is about to be remembered. */
  note(key: string, uid: string): void {
    const before = this.#uids.get(key);
    if (before !== undefined && before !== uid) this.#forget(before);
    this.#uids.set(key, uid);
  }

  /** Work on the key has ended: forgets what nobody needs any more. */
  ended(key: string): void {
    const known = this.#uids.get(key);
    if (known === undefined || known === this.#uidNow(key)) return;
    this.#forget(known);
    this.#uids.delete(key);
  }
}

/** The UID of an object as long as something may follow from what is remembered about it. */
export function uidWhile<T extends KubeObject>(
  matters: (object: T) => boolean,
  object: T | undefined,
): string | undefined {
  return object !== undefined && matters(object) ? object.metadata.uid : undefined;
}
