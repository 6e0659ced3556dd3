import {
  defined,
  type KubeObject,
  msLeft,
  ownerReferenceTo,
  type Pod,
  type PodTemplate,
} from "@mooring/store";
import { isFinished } from "../pod-claims.ts";

/** It runs or will run: neither at its end nor being deleted. */
export function isActive(pod: Pod): boolean {
  return !isFinished(pod) && pod.metadata.deletionTimestamp === undefined;
}

function readyCondition(pod: Pod) {
  return pod.status?.conditions?.find(({ type }) => type === "Ready");
}

/** Its containers serve. */
export function isReady(pod: Pod): boolean {
  return readyCondition(pod)?.status === "True";
}

/**
 * Milliseconds until the pod has been ready for `minReadySeconds`: 0 when it has, undefined while it is not ready.
 */
export function availableInMs(pod: Pod, minReadySeconds: number, now: number): number | undefined {
  const condition = readyCondition(pod);
  if (condition?.status !== "True") return undefined;
  if (minReadySeconds === 0) return 0;
  const since = Date.parse(String(condition.lastTransitionTime ?? ""));
  return Number.isNaN(since) ? undefined : msLeft({ since, forMs: minReadySeconds * 1000, now });
}

/** How many of the pods are available, and when the next one will be, in milliseconds. */
export function availability(pods: readonly Pod[], minReadySeconds: number, now: number) {
  const times = pods.flatMap((pod) => availableInMs(pod, minReadySeconds, now) ?? []);
  const coming = times.filter((ms) => ms > 0);
  return {
    available: times.length - coming.length,
    ...defined({ nextMs: coming.length === 0 ? undefined : Math.min(...coming) }),
  };
}

interface Named {
  name?: string;
  generateName?: string;
}

/** A pod of a template, managed by its owner. */
export function podFrom(owner: KubeObject, template: PodTemplate | undefined, named: Named): Pod {
  const { labels, annotations, finalizers } = template?.metadata ?? {};
  return {
    apiVersion: "v1",
    kind: "Pod",
    metadata: {
      ...defined({ labels, annotations, finalizers, generateName: named.generateName }),
      name: named.name ?? "",
      namespace: owner.metadata.namespace ?? "",
      ownerReferences: [ownerReferenceTo(owner)],
    },
    spec: template?.spec ?? { containers: [] },
  };
}
