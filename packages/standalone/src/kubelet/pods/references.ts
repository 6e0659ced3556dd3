import {
  type Collection,
  ConfigMaps,
  createInformer,
  defined,
  delay,
  type Informer,
  type KubeObject,
  type Logger,
  type ObjectStore,
  type Pod,
  type Resource,
  Secrets,
} from "@mooring/store";
import { isFinished } from "../../controllers/pod-claims.ts";

/** Which objects of its namespace a pod reads: in volumes, and in variables of its containers. */
function referencesOf({ spec }: Pod): { configMaps: Set<string>; secrets: Set<string> } {
  const configMaps = new Set<string>();
  const secrets = new Set<string>();
  const add = (to: Set<string>, name: string | undefined) => name !== undefined && to.add(name);
  for (const { configMap, secret, projected } of spec?.volumes ?? []) {
    add(configMaps, configMap?.name);
    add(secrets, secret?.secretName);
    for (const each of projected?.sources ?? []) {
      add(configMaps, each.configMap?.name);
      add(secrets, each.secret?.name);
    }
  }
  for (const { env, envFrom } of [...(spec?.initContainers ?? []), ...(spec?.containers ?? [])]) {
    for (const { valueFrom } of env ?? []) {
      add(configMaps, valueFrom?.configMapKeyRef?.name);
      add(secrets, valueFrom?.secretKeyRef?.name);
    }
    for (const { configMapRef, secretRef } of envFrom ?? []) {
      add(configMaps, configMapRef?.name);
      add(secrets, secretRef?.name);
    }
  }
  return { configMaps, secrets };
}

/** ConfigMaps and Secrets, of which only the names and versions are kept. */
export interface References {
  configMaps: Informer<KubeObject>;
  secrets: Informer<KubeObject>;
  done: Promise<void>;
}

/** Watches the names and versions of ConfigMaps and Secrets, not their contents, until the signal aborts. */
export function followReferences(
  store: ObjectStore,
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): References {
  const follow = (resource: Resource) => createInformer(store, resource, { transform: nameOnly, logger });
  const [configMaps, secrets] = [follow(ConfigMaps), follow(Secrets)];
  const done = Promise.all([configMaps, secrets].map((informer) => informer.run(signal))).then(() => {});
  return { configMaps, secrets, done };
}

/** The versions of what the pod reads, as one text. */
export function versionsOf(
  pod: Pod,
  caches: Record<"configMaps" | "secrets", Collection<KubeObject>> | undefined,
): string {
  if (caches === undefined) return "";
  const { namespace = "" } = pod.metadata;
  const read = referencesOf(pod);
  const versions = (kind: "configMaps" | "secrets") =>
    [...read[kind]].map((name) => caches[kind].get(`${namespace}/${name}`)?.metadata.resourceVersion ?? "");
  return [...versions("configMaps"), ...versions("secrets")].join();
}

const ASK_MS = 60_000;

/** Asks for the pods that read secrets or config maps once a minute, where there are no events of changes. */
export async function askForReferences(
  podsHere: () => readonly Pod[],
  ask: (uid: string) => void,
  signal: AbortSignal,
): Promise<void> {
  while (!signal.aborted) {
    await delay(ASK_MS, signal).catch(() => {});
    for (const pod of podsHere()) {
      const { configMaps, secrets } = referencesOf(pod);
      if (configMaps.size + secrets.size > 0 && !isFinished(pod)) ask(pod.metadata.uid ?? "");
    }
  }
}

function nameOnly({ apiVersion, kind, metadata }: KubeObject): KubeObject {
  const { name, namespace, resourceVersion } = metadata;
  return {
    apiVersion,
    kind,
    metadata: {
      name,
      ...defined({ namespace, resourceVersion }),
    },
  };
}
