import {
  isConflict,
  isNotFound,
  type ObjectStore,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
} from "@mooring/store";
import type { ClusterView } from "../../cluster-view.ts";

/** Pods with this image never get ready. */
export const BROKEN = "broken";

const NOTHING_LEFT = (error: unknown) => {
  if (!isConflict(error) && !isNotFound(error)) throw error;
};
const at = ({ metadata }: Pod | PersistentVolumeClaim) => ({
  namespace: metadata.namespace ?? "",
  name: metadata.name,
});

/**
 * Pods get a node and ready at once, and go as soon as they are deleted; claims are bound. For tests of what makes pods:
 * thousands of lives of them, which no container would survive in the time.
 */
export function playKubelet(
  store: ObjectStore,
  { pods, claims }: Pick<ClusterView, "claims" | "pods">,
  signal: AbortSignal,
): void {
  const work = (task: () => Promise<unknown>) => {
    if (signal.aborted) return;
    void task().catch((error: unknown) => {
      if (!signal.aborted) NOTHING_LEFT(error);
    });
  };
  const see = (pod: Pod | undefined) => {
    if (pod === undefined) return;
    if (pod.metadata.deletionTimestamp !== undefined) work(() => remove(store, pod));
    else if (!pod.spec?.nodeName) work(() => bind(store, pod));
    else if (pod.status?.phase === "Pending" && !isBroken(pod)) work(() => run(store, pod));
  };
  for (const pod of pods.list()) see(pod);
  pods.onChange((_, pod) => see(pod));
  const seeClaim = (claim: PersistentVolumeClaim | undefined) => {
    if (claim?.status?.phase === "Pending") work(() => bindClaim(store, claim));
  };
  for (const claim of claims.list()) seeClaim(claim);
  claims.onChange((_, claim) => seeClaim(claim));
}

const isBroken = (pod: Pod) => pod.spec?.containers.some(({ image }) => image === BROKEN) === true;

async function remove(store: ObjectStore, pod: Pod): Promise<void> {
  const preconditions = { uid: pod.metadata.uid ?? "" };
  await store.delete(Pods, at(pod), { preconditions, gracePeriodSeconds: 0 });
}

async function bind(store: ObjectStore, pod: Pod): Promise<void> {
  const spec = { ...pod.spec, containers: pod.spec?.containers ?? [], nodeName: "node-1" };
  await store.update(Pods, { ...pod, spec });
}

async function run(store: ObjectStore, pod: Pod): Promise<void> {
  await store.updateStatus(Pods, { ...pod, status: { ...pod.status, ...readyStatus("Running", "True") } });
}

/** A status as a kubelet writes it. */
export function readyStatus(phase: string, ready: "True" | "False") {
  const condition = { type: "Ready", status: ready, lastTransitionTime: new Date().toISOString() };
  return { phase, conditions: [condition] };
}

async function bindClaim(store: ObjectStore, claim: PersistentVolumeClaim): Promise<void> {
  const status = { ...claim.status, phase: "Bound" };
  await store.updateStatus(PersistentVolumeClaims, { ...claim, status });
}
