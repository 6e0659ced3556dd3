import { KubeVolumeAttachments, PersistentVolumeClaims, type Pod, Pods } from "@mooring/store";
import { claimNames } from "./claim-names.ts";
import { type Context, lastWarning, read } from "./context.ts";
import { ofKubernetes } from "./explain-attachment.ts";
import { explainClaim } from "./explain-claim.ts";
import { explainContainers } from "./explain-containers.ts";
import { explainLostMounts } from "./explain-lost-mounts.ts";
import { explainPodDeletion } from "./explain-pod-deletion.ts";
import { explainStopped } from "./explain-stopped.ts";
import { type Finding, finding, result } from "./finding.ts";

function claims(context: Context, pod: Pod): Promise<Finding[]> {
  const namespace = pod.metadata.namespace ?? "default";
  return Promise.all(claimNames(pod).map((name) => explainClaim(context, namespace, name)));
}

/** Attachments of the pod's volumes to its node that are not done, each with its error and the tickets behind it. */
async function attachments(context: Context, pod: Pod): Promise<Finding[]> {
  const node = pod.spec?.nodeName;
  if (node === undefined) return [];
  const namespace = pod.metadata.namespace ?? "default";
  const bound = await Promise.all(
    claimNames(pod).map((name) => read(context, PersistentVolumeClaims, { namespace, name })),
  );
  const volumes = new Set(bound.map((claim) => claim?.spec?.volumeName));
  const { items } = await context.store.list(KubeVolumeAttachments);
  const undone = items.filter(
    ({ spec, status }) =>
      spec.nodeName === node &&
      status?.attached !== true &&
      volumes.has(spec.source.persistentVolumeName ?? ""),
  );
  return Promise.all(undone.map((attachment) => ofKubernetes(context, attachment)));
}

/** The last thing that went wrong. What the scheduler reported is over once the pod has a node. */
async function trouble(context: Context, pod: Pod): Promise<string | undefined> {
  const warning = await lastWarning(context, pod, "FailedScheduling");
  return warning === undefined ? undefined : `${warning.reason}: ${warning.message}`;
}

/** The node of a pod that has not started, where that is the reason. */
async function node(context: Context, pod: Pod): Promise<Finding[]> {
  const name = pod.spec?.nodeName;
  if (name === undefined || (pod.status?.phase ?? "Pending") !== "Pending") return [];
  const found = await context.explain("node", "", name);
  return found.state === "ok" ? [] : [found];
}

/** What a pod that runs, or has run, has to say besides its containers. */
function ended(pod: Pod, subject: string, children: Finding[]): Finding {
  const { phase = "", reason, message } = pod.status ?? {};
  if (phase !== "Failed") return finding("ok", subject, phase, { children });
  const { name, namespace } = pod.metadata;
  // Its kubelet has ended it, and its containers with it: how they ended is no cause.
  if (reason !== undefined) {
    const next = `put right what it says, and create the pod again: kubectl describe pod -n ${namespace} ${name}`;
    const others = children.filter(({ subject: of }) => !of.startsWith("container "));
    return finding("failed", subject, `Failed: ${reason}: ${message ?? "no message"}`, {
      ...{ next, children: others },
    });
  }
  return finding("failed", subject, `Failed: ${message ?? reason ?? "a container ended with an error"}`, {
    ...{ next: `kubectl logs -n ${namespace} ${name} --all-containers`, children },
  });
}

/** What to do about what the scheduler lists. */
function stepFor(message: string, { metadata: { name, namespace } }: Pod): string {
  if (message.includes("enough free storage"))
    return "ask for less in the claim, make a pool larger, or delete volumes: mooring status shows what pools have";
  if (message.includes("volume node affinity conflict"))
    return "see on which node its volumes are, and bring that one back, or restore a snapshot elsewhere: kubectl describe pv, kubectl get nodes";
  const [, other] = /ReadWriteOncePod access mode: pod "([^"]+)" uses/.exec(message) ?? [];
  return other === undefined
    ? `compare what it asks for with the nodes: kubectl describe pod -n ${namespace} ${name}, kubectl describe nodes`
    : `only one pod may use the claim; end the other: kubectl delete pod -n ${namespace} ${other}`;
}

/** Why it has no node, and what to do: what the scheduler lists decides. */
function unscheduled(pod: Pod, subject: string, message: string, children: Finding[]): Finding {
  const { name, namespace } = pod.metadata;
  const gates = (pod.spec?.schedulingGates ?? []).map((gate) => gate.name).join(", ");
  // A claim that is not bound has its own next step, unless that is to look here.
  const here = `mooring why pod/${name} -n ${namespace}`;
  const others = children.filter(({ next }) => next !== here);
  if (gates !== "") {
    const next = `whoever has set a gate takes it out of spec.schedulingGates: kubectl get pod -n ${namespace} ${name} -o yaml`;
    return finding("waiting", subject, `Pending: held by its scheduling gates ${gates}`, {
      ...{ children: others, next },
    });
  }
  if (others.some(({ state }) => state !== "ok"))
    return finding("waiting", subject, `Pending: ${message}`, { children });
  const next = stepFor(message, pod);
  // Failed, so that what waits for it is not taken for the cause.
  return finding("failed", subject, `Pending: ${message}`, { children, next });
}

/** What comes next for one of which nobody has reported anything. */
function waitsFor({ hasNode, hasStorage }: { hasNode: boolean; hasStorage: boolean }): string {
  if (!hasNode) return "no scheduler has chosen a node for it yet";
  return hasStorage ? "waits for its volumes" : "its node has not started it yet";
}

/** A pod: scheduled, its claims, its attachments, its containers. */
export async function explainPod(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `Pod ${namespace}/${name}`;
  const pod = await read(context, Pods, { namespace, name });
  if (pod === undefined)
    return finding("failed", subject, "does not exist", { next: `kubectl get pods -n ${namespace}` });
  if (pod.metadata.deletionTimestamp !== undefined) {
    const unwell = (await claims(context, pod)).filter((claim) => result(claim) !== "ok");
    return explainPodDeletion(context, pod, subject, unwell);
  }
  const storage = [...(await claims(context, pod)), ...(await attachments(context, pod))];
  const phase = pod.status?.phase ?? "Pending";
  const stopped = await explainStopped(context, pod);
  const containers = phase === "Succeeded" ? [] : explainContainers(pod, new Date());
  const own = stopped === undefined ? containers : [stopped];
  const children = [...storage, ...explainLostMounts(pod), ...own, ...(await node(context, pod))];
  if (["Running", "Succeeded", "Failed"].includes(phase)) return ended(pod, subject, children);
  const scheduled = pod.status?.conditions?.find(({ type }) => type === "PodScheduled");
  if (scheduled?.status === "False")
    return unscheduled(pod, subject, scheduled.message ?? "no node was found", children);
  if (containers.length > 0) return finding("waiting", subject, phase, { children });
  const hasNode = pod.spec?.nodeName !== undefined;
  const problem = await trouble(context, pod);
  const cause = problem ?? waitsFor({ hasNode, hasStorage: storage.length > 0 });
  const isLost = hasNode && children.every(({ state }) => state === "ok");
  // What was reported before its volumes were there is over.
  const hasFailed = isLost && problem !== undefined && !isReadyToStart(pod);
  return finding(hasFailed ? "failed" : "waiting", subject, `${phase}: ${cause}`, {
    children,
    ...(isLost ? { next: nextStart(cause, namespace, name) } : {}),
  });
}

/** What to do about what the node has reported. */
function nextStart(cause: string, namespace: string, name: string): string {
  // What kind a PersistentVolume is cannot be changed.
  return cause.includes("is not a CSI volume")
    ? `a claim's volume cannot be changed: create the pod again with a claim of a CSI driver's class, kubectl get sc; kubectl delete pod -n ${namespace} ${name}`
    : `put right what it says, and it starts by itself: kubectl describe pod -n ${namespace} ${name}`;
}

/** Its volumes are mounted: from here on its containers report for themselves. */
function isReadyToStart({ status }: Pod): boolean {
  return (
    status?.conditions?.some(
      ({ type, status: state }) => type === "PodReadyToStartContainers" && state === "True",
    ) === true
  );
}
