import type { Resource } from "@mooring/store";
import { FOREGROUND, type Identity, isDeletingWith, ORPHAN, ownersOf } from "./identity.ts";

/** One object that exists as far as the watches have delivered. */
export interface GraphNode {
  resource: Resource;
  object: Identity;
}

/** Who owns whom, by uid, over all kinds. `touch` is called with every uid that a change makes worth another read. */
export class OwnerGraph {
  readonly #nodes = new Map<string, GraphNode>();
  /** By the owner's uid, which need not be known. */
  readonly #dependents = new Map<string, Set<string>>();
  readonly #touch: (uid: string) => void;

  constructor(touch: (uid: string) => void) {
    this.#touch = touch;
  }

  get(uid: string): GraphNode | undefined {
    return this.#nodes.get(uid);
  }

  dependentsOf(uid: string): GraphNode[] {
    return [...(this.#dependents.get(uid) ?? [])].flatMap((dependent) => this.#nodes.get(dependent) ?? []);
  }

  put(resource: Resource, object: Identity): void {
    const { uid } = object.metadata;
    const old = this.#nodes.get(uid)?.object;
    this.#nodes.set(uid, { resource, object });
    const before = new Set(old === undefined ? [] : ownersOf(old).map((owner) => owner.uid));
    const after = new Set(ownersOf(object).map((owner) => owner.uid));
    for (const owner of before) if (!after.has(owner)) this.#unlink(owner, uid);
    for (const owner of after) this.#link(owner, uid);
    if (this.#needsCheck(object)) this.#touch(uid);
    // A dependent that stops, or starts, to block its owner changes what a waiting owner may do.
    for (const owner of new Set([...before, ...after])) this.#touchWaitingOwner(owner);
    if (isDeletingWith(object, FOREGROUND) && !(old !== undefined && isDeletingWith(old, FOREGROUND))) {
      this.#touchDependents(uid);
    }
  }

  remove(uid: string): void {
    const node = this.#nodes.get(uid);
    if (node === undefined) return;
    this.#nodes.delete(uid);
    for (const owner of ownersOf(node.object)) {
      this.#unlink(owner.uid, uid);
      this.#touchWaitingOwner(owner.uid);
    }
    this.#touchDependents(uid);
  }

  /** Removes all objects of a kind that is not served any more. */
  forget(isOfKind: (resource: Resource) => boolean): void {
    for (const [uid, { resource }] of [...this.#nodes]) if (isOfKind(resource)) this.remove(uid);
  }

  touchAll(): void {
    for (const uid of this.waiting()) this.#touch(uid);
  }

  /** Everything that has owners to check or waits for the collector: what a start has to read. */
  *waiting(): Generator<string> {
    for (const [uid, { object }] of this.#nodes) if (this.#needsCheck(object)) yield uid;
  }

  #needsCheck(object: Identity): boolean {
    if (isDeletingWith(object, FOREGROUND) || isDeletingWith(object, ORPHAN)) return true;
    return ownersOf(object).some(({ uid }) => {
      const owner = this.#nodes.get(uid)?.object;
      return (
        owner === undefined ||
        isDeletingWith(owner, FOREGROUND) ||
        (owner.metadata.namespace !== undefined && owner.metadata.namespace !== object.metadata.namespace)
      );
    });
  }

  #touchWaitingOwner(uid: string): void {
    const owner = this.#nodes.get(uid)?.object;
    if (owner !== undefined && isDeletingWith(owner, FOREGROUND)) this.#touch(uid);
  }

  #touchDependents(uid: string): void {
    for (const dependent of this.#dependents.get(uid) ?? []) this.#touch(dependent);
  }

  #link(owner: string, dependent: string): void {
    const set = this.#dependents.get(owner);
    if (set === undefined) this.#dependents.set(owner, new Set([dependent]));
    else set.add(dependent);
  }

  #unlink(owner: string, dependent: string): void {
    const set = this.#dependents.get(owner);
    set?.delete(dependent);
    if (set?.size === 0) this.#dependents.delete(owner);
  }
}
