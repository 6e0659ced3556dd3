import type { Condition, KubeObject, Namespace, ObjectKey, Resource } from "@mooring/store";

/** The namespace controller's own finalizer, in `spec.finalizers`. */
export const KUBERNETES_FINALIZER = "kubernetes";
/** The ConfigMap in every namespace by which pods know the API server. */
export const ROOT_CA = "kube-root-ca.crt";
/** The ServiceAccount of pods that name none. */
export const DEFAULT_ACCOUNT = "default";

const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/** One object that is left in a namespace. */
export interface Remnant {
  resource: Resource;
  key: ObjectKey;
  uid: string;
  deleting: boolean;
  finalizers: readonly string[];
}

/** Everything that the next step for a namespace depends on. */
export interface View {
  namespace: Namespace;
  /** With the certificate of now. */
  hasRootCa: boolean;
  hasDefaultAccount: boolean;
  /** Read only while the namespace is being deleted. */
  remnants: readonly Remnant[];
  /** Milliseconds since the deletion. */
  deletingMs?: number;
}

/** One visible change of a namespace or of what is in it. */
export type Step =
  | { do: "done" }
  | { do: "create-root-ca" }
  | { do: "create-default-account" }
  | { do: "delete"; remnants: Remnant[] }
  /** Reports in the namespace's conditions what is in the way. */
  | { do: "report"; conditions: ConditionState[] }
  /** Everything has been asked to go; it takes its time. */
  | { do: "wait"; afterMs: number }
  | { do: "finalize" };

/** A condition without its time. */
export type ConditionState = Pick<Condition, "type" | "status" | "reason" | "message">;

/** The next thing to do about one namespace. */
export function decide({ namespace, hasRootCa, hasDefaultAccount, remnants, deletingMs = 0 }: View): Step {
  if (namespace.metadata.deletionTimestamp === undefined) {
    if (!hasRootCa) return { do: "create-root-ca" };
    return hasDefaultAccount ? { do: "done" } : { do: "create-default-account" };
  }
  if (!finalizersOf(namespace).includes(KUBERNETES_FINALIZER)) return { do: "done" };
  if (remnants.length === 0) return { do: "finalize" };
  const next = nextToDelete(remnants);
  if (next.length > 0) return { do: "delete", remnants: next };
  const conditions = conditionsOf(remnants);
  return isReported(namespace, conditions)
    ? { do: "wait", afterMs: backoffFor(deletingMs) }
    : { do: "report", conditions };
}

/** The finalizers in the spec, which are not those of the metadata. */
export function finalizersOf(namespace: Namespace): string[] {
  return namespace.spec?.finalizers ?? [];
}

/** Content with finalizers may stay for long: read less often the longer it takes. */
function backoffFor(deletingMs: number): number {
  return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, deletingMs / 5));
}

/** Pods first: they use what else is in the namespace. */
function nextToDelete(remnants: readonly Remnant[]): Remnant[] {
  const pods = remnants.filter(({ resource }) => resource.group === "" && resource.plural === "pods");
  return (pods.length > 0 ? pods : remnants).filter(({ deleting }) => !deleting);
}

function conditionsOf(remnants: readonly Remnant[]): ConditionState[] {
  const finalizers = new Map<string, number>();
  for (const remnant of remnants) {
    for (const name of remnant.finalizers) finalizers.set(name, (finalizers.get(name) ?? 0) + 1);
  }
  const kinds = new Map<string, number>();
  for (const { resource } of remnants) {
    const name = resource.group === "" ? resource.plural : `${resource.plural}.${resource.group}`;
    kinds.set(name, (kinds.get(name) ?? 0) + 1);
  }
  const list = (counts: Map<string, number>, what: (name: string, count: number) => string) =>
    [...counts].map(([name, count]) => what(name, count)).join(", ");
  return [
    {
      type: "NamespaceContentRemaining",
      status: "True",
      reason: "SomeResourcesRemain",
      message: `Some resources are remaining: ${list(kinds, (name, count) => `${name} has ${count} resource instances`)}`,
    },
    finalizers.size === 0
      ? {
          type: "NamespaceFinalizersRemaining",
          status: "False",
          reason: "ContentHasNoFinalizers",
          message: "All content-preserving finalizers finished",
        }
      : {
          type: "NamespaceFinalizersRemaining",
          status: "True",
          reason: "SomeFinalizersRemain",
          message: `Some content in the namespace has finalizers remaining: ${list(finalizers, (name, count) => `${name} in ${count} resource instances`)}`,
        },
  ];
}

function isReported(namespace: Namespace, conditions: readonly ConditionState[]): boolean {
  const present = namespace.status?.conditions ?? [];
  return conditions.every(({ type, status, message }) =>
    present.some((other) => other.type === type && other.status === status && other.message === message),
  );
}

/** An object that is still in the namespace, as conditions count it. */
export function remnantOf(resource: Resource, { metadata }: KubeObject): Remnant {
  const { name, namespace, uid = "", deletionTimestamp, finalizers = [] } = metadata;
  const key = namespace === undefined ? { name } : { namespace, name };
  return { resource, key, uid, deleting: deletionTimestamp !== undefined, finalizers };
}
