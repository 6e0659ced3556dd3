import {
  ConfigMaps,
  type ControllerSource,
  createInformer,
  defined,
  delay,
  type KubeObject,
  type Logger,
  type ObjectStore,
  type Pod,
  type Resource,
  Secrets,
  source,
} from "@mooring/store";
import { isFinished } from "../../controllers/pod-claims.ts";

/** Which objects of its namespace a pod reads: in volumes, and in variables of its containers. */
export function referencesOf({ spec }: Pod): { configMaps: Set<string>; secrets: Set<string> } {
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

/** ConfigMaps and Secrets, of which only the names are kept, as sources of work for the pods that read them. */
export function followReferences(
  store: ObjectStore,
  podsHere: () => readonly Pod[],
  { logger, signal }: { logger: Logger; signal: AbortSignal },
): { sources: ControllerSource[]; done: Promise<void> } {
  const follow = (resource: Resource, kind: "configMaps" | "secrets") => {
    const informer = createInformer(store, resource, { transform: nameOnly, logger });
    const readers = ({ metadata }: KubeObject) =>
      podsHere()
        .filter((pod) => pod.metadata.namespace === metadata.namespace && !isFinished(pod))
        .filter((pod) => referencesOf(pod)[kind].has(metadata.name))
        .map((pod) => pod.metadata.uid ?? "");
    return { source: source(informer, readers), done: informer.run(signal) };
  };
  const all = [follow(ConfigMaps, "configMaps"), follow(Secrets, "secrets")];
  return {
    sources: all.map((each) => each.source),
    done: Promise.all(all.map(({ done }) => done)).then(() => {}),
  };
}

const ASK_MS = 60_000;

/** Asks for the pods that read secrets or config maps once a minute, where nobody tells of changes. */
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
