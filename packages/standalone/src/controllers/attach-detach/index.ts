import {
  apiVersionOf,
  delay,
  EventRecorder,
  failpoint,
  getIfAny,
  isAlreadyExists,
  isConflict,
  isNotFound,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  keyOf,
  type Logger,
  Nodes,
  type ObjectStore,
  type PersistentVolume,
  type Pod,
  runController,
  source,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { isStopped } from "../node-stopped.ts";
import { decideNode, type NodePlan, VOLUME_NAME_ANNOTATION, type WantedVolume } from "./decide.ts";
import { attachmentName, uniqueVolumeName } from "./names.ts";
import { type ReportProblems, reportProblems } from "./report.ts";
import { nodesHolding, podsUsing, wantedVolumes } from "./wanted.ts";

const afterCreate = failpoint("standalone/attach-detach/attachment-created");
const afterReport = failpoint("standalone/attach-detach/reported");
const afterDelete = failpoint("standalone/attach-detach/attachment-deleted");

const SETTLE_MS = 10;

export interface AttachDetachOptions {
  store: ObjectStore;
  view: ClusterView;
  logger: Logger;
  signal: AbortSignal;
}

/** Keeps storage.k8s.io VolumeAttachments as the pods on each node need them. */
export async function startAttachDetach(options: AttachDetachOptions): Promise<{ done: Promise<void> }> {
  const { store, view, logger, signal } = options;
  const events = new EventRecorder(store, { component: "attachdetach-controller", logger });
  const tell = reportProblems(view, events);
  const done = runController(
    {
      name: "attach-detach",
      logger,
      concurrency: 2,
      sources: [
        source(view.pods, (pod) => nodesOfPods([pod])),
        source(view.nodes, (node) => [node.metadata.name]),
        source(view.claims, (claim) => nodesOfPods(view.pods.byIndex("claim", keyOf(claim)))),
        source(view.volumes, (volume) => nodesWanting(view, volume.metadata.name)),
        source(view.drivers, () => view.nodes.list().map((node) => node.metadata.name)),
        source(view.attachments, ({ spec }) => [
          ...(spec?.nodeName === undefined ? [] : [spec.nodeName]),
          ...nodesWanting(view, spec?.source.persistentVolumeName ?? ""),
        ]),
      ],
      reconcile: (nodeName) => reconcileNode(options, events, tell, nodeName),
    },
    signal,
  );
  return { done: done.then(() => events.flush()) };
}

function nodesOfPods(pods: readonly Pod[]): string[] {
  return [...new Set(pods.map((pod) => pod.spec?.nodeName ?? ""))].filter((name) => name !== "");
}

function nodesWanting(view: ClusterView, volume: PersistentVolume["metadata"]["name"]): string[] {
  const claims = view.claims.byIndex("volume", volume);
  return nodesOfPods(claims.flatMap((claim) => view.pods.byIndex("claim", keyOf(claim))));
}

async function reconcileNode(
  options: AttachDetachOptions,
  events: EventRecorder,
  tell: ReportProblems,
  nodeName: string,
): Promise<void> {
  const { store, view, signal } = options;
  // Many volumes come and go together. A moment's patience and one look serves them all.
  await delay(SETTLE_MS, signal);
  // From the store: the kubelet's list of what is in use must be the newest there is when ours is written.
  const node = await getIfAny(store, Nodes, { name: nodeName }, signal);
  const plan = decideNode({
    nodeName,
    node,
    // The pods of a node that was stopped are still there, and start again with it; until then they need nothing.
    wanted: isStopped(node) ? [] : wantedVolumes(view, nodeName),
    attachments: view.attachments.byIndex("node", nodeName),
    heldElsewhere: (volume) => nodesHolding(view, volume, nodeName),
  });
  tell(nodeName, plan);
  for (const wanted of plan.create) await create(store, wanted, nodeName);
  if (plan.report !== undefined && node !== undefined) {
    const confirmed = await confirm(store, plan, nodeName);
    const volumesAttached = confirmed.map((name) => ({ name, devicePath: "" }));
    try {
      await store.updateStatus(Nodes, { ...node, status: { ...node.status, volumesAttached } });
    } catch (error) {
      // The kubelet was faster. Its write brings this node back into the queue.
      if (isConflict(error)) return;
      throw error;
    }
    afterReport();
    announce(options, events, nodeName, plan, confirmed);
  }
  for (const name of plan.remove) {
    await store.delete(KubeVolumeAttachments, { name }).catch(undefinedIfMissing);
    afterDelete();
  }
}

/** A cached attachment may be gone by now; what is newly reported as attached is looked at again. */
async function confirm(store: ObjectStore, plan: NodePlan, nodeName: string): Promise<string[]> {
  const stale = new Set<string>();
  for (const { driver, handle } of plan.attached) {
    const key = { name: attachmentName(handle, driver, nodeName) };
    const attachment = await getIfAny(store, KubeVolumeAttachments, key);
    const attached =
      attachment?.status?.attached === true && attachment.metadata.deletionTimestamp === undefined;
    if (!attached) stale.add(uniqueVolumeName(driver, handle));
  }
  return (plan.report ?? []).filter((name) => !stale.has(name));
}

async function create(store: ObjectStore, wanted: WantedVolume, nodeName: string): Promise<void> {
  const { driver, handle, volume } = wanted;
  const attachment: KubeVolumeAttachment = {
    apiVersion: apiVersionOf(KubeVolumeAttachments),
    kind: "VolumeAttachment",
    metadata: {
      name: attachmentName(handle, driver, nodeName),
      annotations: { [VOLUME_NAME_ANNOTATION]: uniqueVolumeName(driver, handle) },
    },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: volume } },
  };
  try {
    await store.create(KubeVolumeAttachments, attachment);
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
  }
  afterCreate();
}

function announce(
  { view }: AttachDetachOptions,
  events: EventRecorder,
  nodeName: string,
  plan: NodePlan,
  confirmed: readonly string[],
): void {
  for (const { volume, driver, handle } of plan.attached) {
    if (!confirmed.includes(uniqueVolumeName(driver, handle))) continue;
    const message = `AttachVolume.Attach succeeded for volume "${volume}"`;
    for (const pod of podsUsing(view, volume, nodeName))
      events.event(pod, "Normal", "SuccessfulAttachVolume", message);
  }
}

function undefinedIfMissing(error: unknown): undefined {
  if (isNotFound(error)) return undefined;
  throw error;
}
