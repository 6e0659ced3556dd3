import { KubeVolumeAttachments, PersistentVolumeClaims, type Pod, Pods } from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { ofKubernetes } from "./explain-attachment.ts";
import { explainClaim } from "./explain-claim.ts";
import { type Finding, finding } from "./finding.ts";

function claimNames(pod: Pod): string[] {
  return (pod.spec?.volumes ?? []).flatMap((volume) => {
    if (volume.persistentVolumeClaim !== undefined) return [volume.persistentVolumeClaim.claimName];
    return volume.ephemeral === undefined ? [] : [`${pod.metadata.name}-${volume.name}`];
  });
}

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

/** Containers that have something to say for themselves: not just that they are being created. */
function waitingContainers(pod: Pod): string[] {
  const all = [...(pod.status?.initContainerStatuses ?? []), ...(pod.status?.containerStatuses ?? [])];
  return all.flatMap(({ name, state }) => {
    const { reason = "waiting", message } = state?.waiting ?? {};
    return message === undefined ? [] : [`container ${name}: ${reason} ${message}`];
  });
}

/** The last thing that went wrong. What the scheduler said is over once the pod has a node. */
async function trouble(context: Context, pod: Pod): Promise<string | undefined> {
  const warning = await lastWarning(context, pod, "FailedScheduling");
  return warning === undefined ? undefined : `${warning.reason}: ${warning.message}`;
}

/** A pod: scheduled, its claims, its attachments, its containers. */
export async function explainPod(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `Pod ${namespace}/${name}`;
  const pod = await read(context, Pods, { namespace, name });
  if (pod === undefined)
    return finding("failed", subject, "does not exist", { next: `kubectl get pods -n ${namespace}` });
  const children = [...(await claims(context, pod)), ...(await attachments(context, pod))];
  const phase = pod.status?.phase ?? "Pending";
  if (phase === "Running" || phase === "Succeeded") return finding("ok", subject, phase, { children });
  if (phase === "Failed") {
    return finding(
      "failed",
      subject,
      `Failed: ${pod.status?.message ?? pod.status?.reason ?? "a container ended with an error"}`,
      {
        next: `kubectl logs -n ${namespace} ${name}`,
        children,
      },
    );
  }
  const unscheduled = pod.status?.conditions?.find(
    (entry) => entry.type === "PodScheduled" && entry.status === "False",
  );
  const told =
    unscheduled?.message ??
    waitingContainers(pod)[0] ??
    (await trouble(context, pod)) ??
    "waits for its volumes";
  return finding("waiting", subject, `${phase}: ${told}`, { children });
}
