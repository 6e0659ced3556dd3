import {
  type ConfigMap,
  ConfigMaps,
  createInformer,
  type Logger,
  Namespaces,
  type ObjectStore,
  Reconciler,
  type ServiceAccount,
  ServiceAccounts,
  source,
  stepFailpoints,
} from "@mooring/store";
import type { KindRegistry } from "../../kinds/kind-info.ts";
import { apply } from "./apply.ts";
import { DEFAULT_ACCOUNT, decide, ROOT_CA, type Step, type View } from "./decide.ts";
import { readNamespace } from "./read.ts";

const failpoints = stepFailpoints<Step>("standalone/namespace", {
  "create-root-ca": true,
  "create-default-account": true,
  delete: true,
  report: true,
  finalize: true,
});

interface NamespaceControllerOptions {
  store: ObjectStore;
  kinds: KindRegistry;
  /** The authority's certificate (PEM), for the config map `kube-root-ca.crt` of every namespace. */
  caPem: string;
  logger: Logger;
  signal: AbortSignal;
  /** Milliseconds since the epoch; default `Date.now`. */
  clock?: () => number;
}

/** The controller empties a namespace in rounds: an object that goes may take others with it. */
const MOST_STEPS = 500;

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
  const from = { store, kinds, caPem, clock, namespaces, configMaps, accounts };
  const controller = new Reconciler<View, Step>({
    ...{ name: "namespace", store, logger, failpoints, mostSteps: MOST_STEPS },
    // What is left in a namespace that goes is of any kind: no watch delivers it.
    polls: ["delete", "report", "finalize"],
    sources: [source(namespaces, ({ metadata }) => [metadata.name])],
    watched: [configMaps, accounts],
    read: (name, context) => readNamespace(name, from, context),
    decide,
    apply(step, { namespace }) {
      const now = `${new Date(clock()).toISOString().slice(0, 19)}Z`;
      return apply(step, namespace, { store, signal, caPem, now });
    },
  }).run(signal);
  await Promise.all([namespaces, configMaps, accounts].map((informer) => informer.synced(signal)));
  return { done: Promise.all([controller, ...running]).then(() => {}) };
}
