/** Which references across namespaces an event was written about: one for each is enough. */
export class ForeignReports {
  /** By the uid of the object, the uids of owners. */
  readonly #reported = new Map<string, Set<string>>();

  note(object: string, owner: string): void {
    this.#reported.set(object, (this.#reported.get(object) ?? new Set()).add(owner));
  }

  has(object: string, owner: string): boolean {
    return this.#reported.get(object)?.has(owner) === true;
  }

  forget(object: string): void {
    this.#reported.delete(object);
  }
}
