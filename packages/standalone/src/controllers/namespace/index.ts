import {
  type ConfigMap,
  ConfigMaps,
  createInformer,
  getIfAny,
  isNotFound,
  type Logger,
  Namespaces,
  type ObjectStore,
  type ReconcileResult,
  runController,
  type ServiceAccount,
  ServiceAccounts,
  source,
} from "@mooring/store";
import type { KindRegistry } from "../../apiserver/kind-info.ts";
import { apply } from "./apply.ts";
import { contentsOf } from "./contents.ts";
import { DEFAULT_ACCOUNT, decide, ROOT_CA } from "./decide.ts";

export interface NamespaceControllerOptions {
  store: ObjectStore;
  kinds: KindRegistry;
  /** The authority's certificate (PEM), for the config map `kube-root-ca.crt` of every namespace. */
  caPem: string;
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

const MIN_WAIT_MS = 100;
const MAX_WAIT_MS = 5_000;

/**
 * Gives every namespace its service account `default` and its root certificate, and empties namespaces that are being
 * deleted before it lets them go. `done` settles when it has stopped.
 */
export async function startNamespaceController(
  options: NamespaceControllerOptions,
): Promise<{ done: Promise<void> }> {
  const { store, kinds, caPem, logger, signal, clock = Date.now } = options;
  const named = (name: string) => ({ fieldSelector: `metadata.name=${name}`, logger });
  const namespaces = createInformer(store, Namespaces, { logger });
  const configMaps = createInformer<ConfigMap>(store, ConfigMaps, named(ROOT_CA));
  const accounts = createInformer<ServiceAccount>(store, ServiceAccounts, named(DEFAULT_ACCOUNT));
  const running = [namespaces, configMaps, accounts].map((informer) => informer.run(signal));
  const inNamespace = (object: { metadata: { namespace?: string } }) => [object.metadata.namespace ?? ""];

  const reconcile = async (name: string): Promise<ReconcileResult | undefined> => {
    for (;;) {
      const namespace = await getIfAny(store, Namespaces, { name }, signal);
      if (namespace === undefined) return undefined;
      const { deletionTimestamp } = namespace.metadata;
      const step = decide({
        namespace,
        hasRootCa: await has(store, ConfigMaps, name, ROOT_CA),
        hasDefaultAccount: await has(store, ServiceAccounts, name, DEFAULT_ACCOUNT),
        remnants: deletionTimestamp === undefined ? [] : await contentsOf(store, kinds, name, signal),
      });
      if (step.type === "none") return undefined;
      if (step.type === "wait")
        return { requeueAfterMs: waitFor(clock() - Date.parse(deletionTimestamp ?? "")) };
      const now = `${new Date(clock()).toISOString().slice(0, 19)}Z`;
      await apply(step, namespace, { store, signal, caPem, now });
    }
  };
  const controller = runController(
    {
      name: "namespace",
      sources: [
        source(namespaces, ({ metadata }) => [metadata.name]),
        source(configMaps, inNamespace),
        source(accounts, inNamespace),
      ],
      logger,
      reconcile,
    },
    signal,
  );
  await Promise.all([namespaces, configMaps, accounts].map((informer) => informer.synced(signal)));
  return { done: Promise.all([controller, ...running]).then(() => {}) };
}

/** Content with finalizers may stay for long: look less often the longer it takes. */
function waitFor(elapsedMs: number): number {
  return Math.min(MAX_WAIT_MS, Math.max(MIN_WAIT_MS, elapsedMs / 5));
}

async function has(
  store: ObjectStore,
  resource: typeof ConfigMaps | typeof ServiceAccounts,
  namespace: string,
  name: string,
): Promise<boolean> {
  try {
    await store.get<ConfigMap | ServiceAccount>(resource, { namespace, name });
    return true;
  } catch (error) {
    if (isNotFound(error)) return false;
    throw error;
  }
}
