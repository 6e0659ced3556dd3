/** One barrier at a time on a node: two that waited for each other's nodes would both miss their deadline. */
export class NodeClaims {
  readonly #nodes = new Map<string, readonly string[]>();
  readonly #changed: () => void;

  constructor(changed: () => void) {
    this.#changed = changed;
  }

  /** Nodes that other groups have. */
  others(group: string): Set<string> {
    return new Set([...this.#nodes].filter(([name]) => name !== group).flatMap(([, nodes]) => nodes));
  }

  /** False, and nothing taken, when another group has one of them. */
  take(group: string, nodes: readonly string[]): boolean {
    const taken = this.others(group);
    if (nodes.some((node) => taken.has(node))) return false;
    this.#nodes.set(group, nodes);
    this.#changed();
    return true;
  }

  has(group: string): boolean {
    return this.#nodes.has(group);
  }

  /** Of a barrier that is under way already, also when another group has one of its nodes. */
  resume(group: string, nodes: readonly string[]): void {
    this.#nodes.set(group, nodes);
    this.#changed();
  }

  drop(group: string): void {
    if (this.#nodes.delete(group)) this.#changed();
  }
}
