import {
  type ConfigMap,
  ConfigMaps,
  failpoint,
  isAlreadyExists,
  isConflict,
  isNotFound,
  isStatus,
  mutate,
  type Namespace,
  Namespaces,
  type ObjectStore,
  type ServiceAccount,
  ServiceAccounts,
} from "@mooring/store";
import {
  type ConditionState,
  DEFAULT_ACCOUNT,
  finalizersOf,
  KUBERNETES_FINALIZER,
  type Remnant,
  ROOT_CA,
  type Step,
} from "./decide.ts";

type ActiveStep = Exclude<Step, { do: "done" | "wait" }>;

/** Within a batch objects are deleted side by side: a process may end with some of them done. */
const objectDeleted = failpoint("standalone/namespace/object-deleted");

/** Deletes side by side: enough to share trips to the disk, few enough to let others in between. */
const BATCH = 64;

/** What the steps are made with. */
export interface ApplyContext {
  store: ObjectStore;
  signal: AbortSignal;
  /** PEM. */
  caPem: string;
  /** RFC 3339. */
  now: string;
}

/** Makes one step. */
export async function apply(step: ActiveStep, namespace: Namespace, context: ApplyContext): Promise<void> {
  const { name } = namespace.metadata;
  switch (step.do) {
    case "create-root-ca":
      return createRootCa(name, context);
    case "create-default-account":
      return createDefaultAccount(name, context);
    case "delete":
      for (let at = 0; at < step.remnants.length; at += BATCH) {
        const batch = step.remnants.slice(at, at + BATCH);
        await Promise.all(batch.map((remnant) => remove(remnant, context)));
      }
      return;
    case "report":
      return mutateStatus(name, step.conditions, context);
    case "finalize":
      return finalize(namespace, context);
  }
}

/** The namespace may have been deleted since we read it; whatever is there already is fine. */
async function tolerant(write: Promise<unknown>): Promise<void> {
  try {
    await write;
  } catch (error) {
    if (!isAlreadyExists(error) && !isNotFound(error) && !isStatus(error, "Forbidden")) throw error;
  }
}

function createRootCa(namespace: string, { store, caPem, signal }: ApplyContext): Promise<void> {
  const annotations = {
    "kubernetes.io/description": "Verifies connections to this cluster's API server, for clients in pods.",
  };
  const object: ConfigMap = {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: ROOT_CA, namespace, annotations },
    data: { "ca.crt": caPem },
  };
  const options = { fieldManager: "namespace-controller", signal };
  return tolerant(
    store.create(ConfigMaps, object, options).catch((error: unknown) => {
      if (!isAlreadyExists(error)) throw error;
      const change = (found: ConfigMap) => ({ ...found, data: { ...found.data, ...object.data } });
      return mutate(store, ConfigMaps, { namespace, name: ROOT_CA }, { change, signal });
    }),
  );
}

function createDefaultAccount(namespace: string, { store, signal }: ApplyContext): Promise<void> {
  const metadata = { name: DEFAULT_ACCOUNT, namespace };
  const object: ServiceAccount = { apiVersion: "v1", kind: "ServiceAccount", metadata };
  return tolerant(store.create(ServiceAccounts, object, { fieldManager: "namespace-controller", signal }));
}

/** Only the object that was seen: one that was made since belongs to the next read. */
async function remove({ resource, key, uid }: Remnant, { store, signal }: ApplyContext): Promise<void> {
  try {
    await store.delete(resource, key, { propagationPolicy: "Background", preconditions: { uid }, signal });
    objectDeleted();
  } catch (error) {
    if (!isNotFound(error) && !isConflict(error)) throw error;
  }
}

async function mutateStatus(
  name: string,
  conditions: ConditionState[],
  context: ApplyContext,
): Promise<void> {
  const { store, signal, now } = context;
  const change = (namespace: Namespace) => {
    const present = namespace.status?.conditions ?? [];
    const others = present.filter(({ type }) => !conditions.some((condition) => condition.type === type));
    const merged = conditions.map((condition) => {
      const old = present.find(({ type }) => type === condition.type);
      const lastTransitionTime = old?.status === condition.status ? (old.lastTransitionTime ?? now) : now;
      return { ...condition, lastTransitionTime };
    });
    namespace.status = { ...namespace.status, phase: "Terminating", conditions: [...others, ...merged] };
  };
  await mutate(store, Namespaces, { name }, { change: change, subresource: "status", signal });
}

/** As `PUT namespaces/NAME/finalize` does; with the last finalizer the namespace goes. */
async function finalize(namespace: Namespace, { store, signal }: ApplyContext): Promise<void> {
  const { name, uid, resourceVersion } = namespace.metadata;
  const finalizers = finalizersOf(namespace).filter((finalizer) => finalizer !== KUBERNETES_FINALIZER);
  const body = { metadata: { uid, resourceVersion }, spec: { finalizers } };
  await store.patch(Namespaces, { name }, { type: "merge", body }, { subresource: "finalize", signal });
}
