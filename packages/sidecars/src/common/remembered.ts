/** Which UID a controller remembers something about, by key: an object that is gone cannot say its own. */
export class Remembered {
  readonly #uids = new Map<string, string>();
  readonly #uidNow: (key: string) => string | undefined;
  readonly #forget: (uid: string) => void;

  /** `uidNow`: of the object that has the key now. */
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

  /** Work on the key has ended: forgets what an object that is not there any more has left. */
  ended(key: string): void {
    const known = this.#uids.get(key);
    if (known === undefined || known === this.#uidNow(key)) return;
    this.#forget(known);
    this.#uids.delete(key);
  }
}
