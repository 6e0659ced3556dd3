import { unknownResource } from "../object/errors.ts";
import type { ManagedFieldsEntry, UnstructuredObject } from "../object/meta.ts";
import { apiVersionOf, groupResource, type ObjectKey, type Resource } from "../object/resource.ts";
import type { DeleteOptions } from "../object-store.ts";

/** What a hook may know of the request. */
export interface StrategyContext {
  subresource?: string;
  dryRun: boolean;
  fieldManager?: string;
  /** Another object as the next write would find it, for rules that depend on one. */
  lookup?(resource: Resource, key: ObjectKey): UnstructuredObject | undefined;
  /**
   * What `of` makes of each object of a kind in a namespace (absent: of all), as the next write would find them, by path.
   * It is kept and follows every write, so that rules about many objects cost what has changed. `of` is pure and declared
   * once, at module level.
   */
  collect?<T>(
    resource: Resource,
    namespace: string | undefined,
    of: (object: UnstructuredObject) => T,
  ): ReadonlyMap<string, T>;
}

/** Who changed which part, for `metadata.managedFields`. */
export interface ManagerContext {
  manager: string;
  subresource?: string;
  /** RFC 3339. */
  time: string;
}

/** Who applies, and how: the arguments of a server-side apply besides the object. */
export interface ApplyContext {
  manager: string;
  force: boolean;
  subresource?: string;
  /** RFC 3339. */
  time: string;
}

/**
 * Rules of one kind. Every hook is pure and synchronous, sees the object in the storage version and may return the
 * object it was given, changed. Failures are `StatusError`s.
 */
export interface ResourceStrategy {
  /** Defaults, prunes and validates a new object; metadata that the server sets is already there. */
  create?(object: UnstructuredObject, context: StrategyContext): UnstructuredObject;
  /** The same for a change. Status and spec are already kept apart as the subresource demands. */
  update?(next: UnstructuredObject, old: UnstructuredObject, context: StrategyContext): UnstructuredObject;
  /**
   * Fields beyond metadata.name and metadata.namespace that a field selector may use. Every one must be there for
   * every object, "" where it has no value: the store also asks with an object that has nothing but a kind.
   */
  selectableFields?(object: UnstructuredObject): Record<string, string>;
  /**
   * The refusals of `create` and `update` that depend on {@link StrategyContext.collect}, for a write that was decided where
   * there is none. `old` is undefined for a new object.
   */
  admit?(
    next: UnstructuredObject,
    old: UnstructuredObject | undefined,
    collect: NonNullable<StrategyContext["collect"]>,
  ): void;
  /** Applies a strategic merge patch. Without it the server returns 415 for the kind, as custom resources do. */
  strategicMerge?(current: UnstructuredObject, patch: unknown): UnstructuredObject;
  /** Server-side apply, managedFields included. Without it the server returns 415 for the kind. */
  apply?(
    current: UnstructuredObject | undefined,
    applied: UnstructuredObject,
    context: ApplyContext,
  ): UnstructuredObject;
  /** The managedFields after a client has changed `old` to `next` by anything but apply. */
  trackManagers?(
    old: UnstructuredObject | undefined,
    next: UnstructuredObject,
    context: ManagerContext,
  ): ManagedFieldsEntry[];
  /** The object in another served version (`v1beta1`). Without it only `apiVersion` changes. */
  convert?(object: UnstructuredObject, version: string): UnstructuredObject;
  /**
   * Seconds that a deleted object stays, marked, until a client deletes it with `gracePeriodSeconds: 0`
   * (pods wait for their kubelet). 0: it goes at once.
   */
  gracefulDelete?(object: UnstructuredObject, options: DeleteOptions): number;
}

/** One kind that a `LocalStore` serves. */
export interface ResourceDefinition {
  /** Coordinates of the storage version. */
  resource: Resource;
  /** All served versions; default: the storage version alone. */
  versions?: string[];
  /** The kind has a status subresource: `update` leaves status alone, `updateStatus` everything else. */
  hasStatus: boolean;
  hasScale?: boolean;
  /** A status given at creation is kept (nodes register with theirs). */
  keepStatusOnCreate?: boolean;
  shortNames?: string[];
  singular?: string;
  categories?: string[];
  strategy?: ResourceStrategy;
}

/** The kinds of a store: which there are, and by which rules. May grow and shrink while the store is open. */
export class ResourceRegistry {
  readonly #byName = new Map<string, ResourceDefinition>();
  readonly #listeners = new Set<() => void>();

  constructor(definitions: Iterable<ResourceDefinition> = []) {
    for (const definition of definitions) this.register(definition);
  }

  /** Adds the kind or replaces its definition. Objects of a kind that leaves stay on disk, out of reach. */
  register(definition: ResourceDefinition): void {
    this.#byName.set(groupResource(definition.resource), definition);
    this.#changed();
  }

  unregister(resource: Pick<Resource, "group" | "plural">): void {
    if (this.#byName.delete(groupResource(resource))) this.#changed();
  }

  /** The definition that serves this version of this collection, or undefined. */
  find(resource: Pick<Resource, "group" | "version" | "plural">): ResourceDefinition | undefined {
    const definition = this.#byName.get(groupResource(resource));
    if (definition === undefined || !servedVersions(definition).includes(resource.version)) return undefined;
    return definition;
  }

  /** Like {@link find}; throws NotFound ("the server could not find the requested resource"). */
  get(resource: Pick<Resource, "group" | "version" | "plural">): ResourceDefinition {
    const definition = this.find(resource);
    if (definition === undefined) throw unknownResource(resource);
    return definition;
  }

  findKind(apiVersion: string, kind: string): ResourceDefinition | undefined {
    for (const definition of this.#byName.values()) {
      if (definition.resource.kind !== kind) continue;
      const { group } = definition.resource;
      if (servedVersions(definition).some((version) => apiVersionOf({ group, version }) === apiVersion)) {
        return definition;
      }
    }
    return undefined;
  }

  list(): ResourceDefinition[] {
    return [...this.#byName.values()];
  }

  /** Calls back after every change; returns how to stop that. */
  onChange(listener: () => void): () => void {
    this.#listeners.add(listener);
    return () => this.#listeners.delete(listener);
  }

  #changed(): void {
    for (const listener of this.#listeners) listener();
  }
}

/** The versions under which a kind is served; only the stored one unless its definition says more. */
function servedVersions(definition: ResourceDefinition): string[] {
  return definition.versions ?? [definition.resource.version];
}
