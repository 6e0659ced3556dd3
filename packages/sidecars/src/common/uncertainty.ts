/**
 * For which objects a create call may have had an effect that the driver has not confirmed: because a call of this life was
 * left without a clear result, or because an earlier life left its record open.
 */
export class Uncertainty {
  readonly #ids = new Set<string>();

  note(id: string): void {
    this.#ids.add(id);
  }

  /** The outcome is known now. */
  settle(id: string): void {
    this.#ids.delete(id);
  }

  has(id: string): boolean {
    return this.#ids.has(id);
  }
}
