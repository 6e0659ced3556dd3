import type { KubeObject, Resource } from "@mooring/store";

/** One column of a `kubectl get` table (meta/v1 TableColumnDefinition). */
export interface ColumnHeader {
  name: string;
  type: "string" | "integer" | "number" | "boolean" | "date";
  format?: string;
  description?: string;
  /** 0 (default): always shown; 1 and more: with `-o wide` only. */
  priority?: number;
}

/** A value in a table. */
export type Cell = string | number | boolean | null;

/**
 * A column is read by a JSON path (custom resources: `.spec.size`; `date` columns are turned into an age) or by a
 * function (built-in kinds). The first column of every kind is `Name`, the last usually `Age`; give all of them.
 */
export type Column = ColumnHeader & ({ jsonPath: string } | { value(object: KubeObject, now: Date): Cell });

/** Where an autoscaling/v1 Scale reads and writes: simple JSON paths from the root, as in a CRD (`.spec.replicas`). */
export interface ScalePaths {
  specReplicasPath: string;
  statusReplicasPath: string;
  /** Leads to a selector in its string form, or as an object. */
  labelSelectorPath?: string;
}

/** Everything the API server needs to serve one kind. */
export interface KindInfo {
  /** Coordinates in the storage version; the store converts when it is asked for another version. */
  resource: Resource;
  /** Served versions, the preferred one first. */
  versions: readonly string[];
  singular: string;
  shortNames: readonly string[];
  categories: readonly string[];
  listKind: string;
  /** By served version. A version without an entry gets Name and Age. */
  columns: Readonly<Record<string, readonly Column[]>>;
  /**
   * Subresources with behaviour of their own (pods/log, pods/eviction, namespaces/finalize) are the API server's and
   * are not listed here.
   */
  subresources: { status: boolean; scale?: ScalePaths };
  /** Kinds of a CRD: no strategic merge patch (415), as in Kubernetes. */
  custom: boolean;
  /** Sent as `Warning: 299` on every request of that version. */
  deprecationWarnings?: Readonly<Record<string, string>>;
  /** The structural OpenAPI v3 schema of one version; undefined when the kind has none. */
  schema(version: string): Record<string, unknown> | undefined;
  /**
   * Field validation (`fieldValidation=Warn|Strict`): paths of the request body's fields that the schema does not
   * know, as Kubernetes prints them (`spec.containers[0].imag`). Absent: nothing is unknown.
   */
  unknownFields?(object: Record<string, unknown>, version: string): string[];
  /** Absent: all verbs. */
  verbs?: readonly Verb[];
}

/** What can be done with a kind by way of its path. */
export type Verb = "create" | "delete" | "deletecollection" | "get" | "list" | "patch" | "update" | "watch";
/** What can be done with most kinds. */
export const ALL_VERBS: readonly Verb[] = [
  "create",
  "delete",
  "deletecollection",
  "get",
  "list",
  "patch",
  "update",
  "watch",
];

/** What may be done with a kind. Namespaces are emptied one by one: there is no deletion of them all. */
export function verbsOf({ resource, verbs }: KindInfo): readonly Verb[] {
  if (verbs !== undefined) return verbs;
  const isNamespaces = resource.group === "" && resource.plural === "namespaces";
  return isNamespaces ? ALL_VERBS.filter((verb) => verb !== "deletecollection") : ALL_VERBS;
}

/** The kinds being served, live: builtins are there from the start, the CRD controller adds and removes. */
export interface KindRegistry {
  all(): readonly KindInfo[];
  /** By group, served version and plural name. */
  find(group: string, version: string, plural: string): KindInfo | undefined;
  /** Called after every change; returns how to stop. */
  onChange(listener: () => void): () => void;
}

/** What fills a {@link KindRegistry}. One entry per group and plural: adding it again replaces it. */
export interface MutableKindRegistry extends KindRegistry {
  set(kind: KindInfo): void;
  delete(group: string, plural: string): void;
}

/** OpenAPI documents of the served kinds, supplied by the schema part; cheap to call again while nothing changed. */
export interface OpenApiDocuments {
  /** Swagger 2.0, all groups. */
  v2(): Promise<object>;
  /** Paths as in the index of /openapi/v3: `api/v1`, `apis/storage.k8s.io/v1`, ... */
  v3Paths(): readonly string[];
  /** OpenAPI 3.0 of one of these paths; undefined when there is none. */
  v3(path: string): object | undefined;
}

/** The plain in-memory {@link MutableKindRegistry}. */
export function createKindRegistry(): MutableKindRegistry {
  const kinds = new Map<string, KindInfo>();
  const listeners = new Set<() => void>();
  const keyOf = (group: string, plural: string) => `${group}/${plural}`;
  const changed = () => {
    for (const listener of listeners) listener();
  };
  return {
    all: () => [...kinds.values()],
    find(group, version, plural) {
      const kind = kinds.get(keyOf(group, plural));
      return kind?.versions.includes(version) === true ? kind : undefined;
    },
    onChange(listener) {
      listeners.add(listener);
      return () => listeners.delete(listener);
    },
    set(kind) {
      kinds.set(keyOf(kind.resource.group, kind.resource.plural), kind);
      changed();
    },
    delete(group, plural) {
      if (kinds.delete(keyOf(group, plural))) changed();
    },
  };
}
