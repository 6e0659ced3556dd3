/** Wakes pods of this node by uid; keeps the uids until the pods' controller listens. */
export class PodWakes {
  readonly #waiting = new Set<string>();
  /** How often the volumes of a pod were asked to be made anew. */
  readonly #remounts = new Map<string, number>();
  #listener: ((podUID: string) => void) | undefined;

  add(podUID: string): void {
    if (this.#listener === undefined) this.#waiting.add(podUID);
    else this.#listener(podUID);
  }

  /** What is in the pod's volumes may be out of date. */
  remount(podUID: string): void {
    this.#remounts.set(podUID, this.remounts(podUID) + 1);
    this.add(podUID);
  }

  remounts(podUID: string): number {
    return this.#remounts.get(podUID) ?? 0;
  }

  forget(podUID: string): void {
    this.#remounts.delete(podUID);
  }

  listen(listener: (podUID: string) => void): void {
    this.#listener = listener;
    for (const podUID of this.#waiting) listener(podUID);
    this.#waiting.clear();
  }
}
