import type { PersistentVolumeClaim, Pod, PodTemplate, StatefulSet } from "@mooring/store";
import { MOST_PODS } from "../../builtin/kinds/pod-template.ts";
import { podFrom } from "../workloads/pods.ts";

export const REVISION = "controller-revision-hash";
const POD_NAME = "statefulset.kubernetes.io/pod-name";
const INDEX = "apps.kubernetes.io/pod-index";

/** The ordinals that the set wants, the first one first. A set from before there was a limit is kept within it. */
export function ordinalsOf({ spec }: StatefulSet): number[] {
  const start = spec?.ordinals?.start ?? 0;
  return Array.from({ length: Math.min(spec?.replicas ?? 1, MOST_PODS) }, (_, i) => start + i);
}

/** `db-3` of set `db` has ordinal 3; undefined when the name is none of the set's. */
export function ordinalOf(set: StatefulSet, pod: Pod): number | undefined {
  const prefix = `${set.metadata.name}-`;
  const { name } = pod.metadata;
  const digits = name.startsWith(prefix) ? name.slice(prefix.length) : "";
  return /^(0|[1-9]\d*)$/.test(digits) ? Number(digits) : undefined;
}

/** The revision that a pod was made of. */
export function revisionOf(pod: Pod): string {
  return pod.metadata.labels?.[REVISION] ?? "";
}

/** The claims of one pod: `TEMPLATE-SET-ORDINAL`. They have no owner, unless the retention policy gives them one. */
export function claimsOf(set: StatefulSet, ordinal: number): PersistentVolumeClaim[] {
  const { name: setName, namespace = "" } = set.metadata;
  return (set.spec?.volumeClaimTemplates ?? []).map(({ metadata, spec }) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: {
      name: `${metadata?.name}-${setName}-${ordinal}`,
      namespace,
      labels: { ...metadata?.labels, ...set.spec?.selector.matchLabels },
      annotations: metadata?.annotations ?? {},
    },
    spec: spec ?? {},
  }));
}

/** The pod of an ordinal: its name, its host name, and its own claims. */
export function podOf(set: StatefulSet, ordinal: number, template: PodTemplate, revision: string): Pod {
  const name = `${set.metadata.name}-${ordinal}`;
  const pod = podFrom(set, template, { name });
  const claimed = (set.spec?.volumeClaimTemplates ?? []).map(({ metadata }) => ({
    name: metadata?.name ?? "",
    persistentVolumeClaim: { claimName: `${metadata?.name}-${name}` },
  }));
  const own = new Set(claimed.map((volume) => volume.name));
  const others = (pod.spec?.volumes ?? []).filter((volume) => !own.has(volume.name));
  const subdomain = set.spec?.serviceName ?? "";
  return {
    ...pod,
    metadata: {
      ...pod.metadata,
      labels: { ...pod.metadata.labels, [POD_NAME]: name, [INDEX]: String(ordinal), [REVISION]: revision },
    },
    spec: {
      ...pod.spec,
      containers: pod.spec?.containers ?? [],
      volumes: [...others, ...claimed],
      hostname: name,
      ...(subdomain === "" ? {} : { subdomain }),
    },
  };
}
