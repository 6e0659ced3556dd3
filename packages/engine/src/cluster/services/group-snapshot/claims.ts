/** One barrier at a time on a node: two that waited for each other's nodes would both miss their deadline. */
export class NodeClaims {
  readonly #nodes = new Map<string, readonly string[]>();

  /** Nodes that other groups have. */
  others(group: string): Set<string> {
    return new Set([...this.#nodes].filter(([name]) => name !== group).flatMap(([, nodes]) => nodes));
  }

  /** False, and nothing taken, when another group has one of them. */
  take(group: string, nodes: readonly string[]): boolean {
    const taken = this.others(group);
    if (nodes.some((node) => taken.has(node))) return false;
    this.#nodes.set(group, nodes);
    return true;
  }

  drop(group: string): void {
    this.#nodes.delete(group);
  }
}
