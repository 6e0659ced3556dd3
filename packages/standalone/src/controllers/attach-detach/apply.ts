import {
  apiVersionOf,
  type EventRecorder,
  failpoint,
  isAlreadyExists,
  isNotFound,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  type Node,
  Nodes,
  type ObjectStore,
  type WrittenCache,
} from "@mooring/store";
import type { ClusterView } from "../cluster-view.ts";
import { type AttachDetachStep, type NodeView, VOLUME_NAME_ANNOTATION } from "./decide.ts";
import { attachmentName, uniqueVolumeName } from "./names.ts";
import type { WantedVolume } from "./plan.ts";
import type { Problem, ReportedProblems } from "./problems.ts";
import { podsUsing } from "./wanted.ts";

// Failpoints between the volumes of one step, which come or go together: a process may end with some of them done.
const afterCreate = failpoint("standalone/attach-detach/attachment-created");
const afterDelete = failpoint("standalone/attach-detach/attachment-deleted");

interface AttachDetachEffects {
  store: ObjectStore;
  events: EventRecorder;
  view: Pick<ClusterView, "pods" | "claims">;
  nodes: WrittenCache<Node>;
  attachments: WrittenCache<KubeVolumeAttachment>;
  reported: ReportedProblems;
}

/** Makes one visible change of a node's attachments. */
export async function applyStep(
  step: AttachDetachStep,
  { node, nodeName }: NodeView,
  effects: AttachDetachEffects,
): Promise<void> {
  switch (step.do) {
    case "report-problems":
      for (const problem of step.problems) report(effects, nodeName, problem);
      return;
    case "create-attachments":
      for (const wanted of step.wanted) await create(effects, wanted, nodeName);
      return;
    case "report-attached":
      if (node !== undefined) await reportAttached(effects, node, step);
      return;
    case "delete-attachments":
      for (const name of step.names) await remove(effects, name);
      return;
  }
}

function report({ events, reported, view }: AttachDetachEffects, nodeName: string, problem: Problem): void {
  reported.note(nodeName, problem);
  for (const pod of podsUsing(view, problem.volume, nodeName))
    events.event(pod, "Warning", "FailedAttachVolume", problem.message);
}

async function create(
  { store, attachments }: AttachDetachEffects,
  { driver, handle, volume, protection }: WantedVolume,
  nodeName: string,
): Promise<void> {
  const name = attachmentName(handle, driver, nodeName);
  const unique = { [VOLUME_NAME_ANNOTATION]: uniqueVolumeName(driver, handle) };
  const annotations = { ...unique, ...protection?.annotations };
  const attachment: KubeVolumeAttachment = {
    apiVersion: apiVersionOf(KubeVolumeAttachments),
    kind: "VolumeAttachment",
    metadata: { name, ...protection, annotations },
    spec: { attacher: driver, nodeName, source: { persistentVolumeName: volume } },
  };
  try {
    attachments.wrote(await store.create(KubeVolumeAttachments, attachment));
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await attachments.refresh(name);
  }
  afterCreate();
}

/** Of what is newly reported as attached every attachment is read again: a cached one may be gone by now. */
async function reportAttached(
  { store, events, view, nodes, attachments }: AttachDetachEffects,
  node: Node,
  { attached, names }: Extract<AttachDetachStep, { do: "report-attached" }>,
): Promise<void> {
  const { name: nodeName } = node.metadata;
  const confirmed: WantedVolume[] = [];
  const stale = new Set<string>();
  for (const volume of attached) {
    const attachment = await attachments.refresh(attachmentName(volume.handle, volume.driver, nodeName));
    if (attachment?.status?.attached === true && attachment.metadata.deletionTimestamp === undefined)
      confirmed.push(volume);
    else stale.add(uniqueVolumeName(volume.driver, volume.handle));
  }
  const volumesAttached = names.filter((name) => !stale.has(name)).map((name) => ({ name, devicePath: "" }));
  // When the kubelet was faster this conflicts, and all is decided again on what it wrote.
  nodes.wrote(await store.updateStatus(Nodes, { ...node, status: { ...node.status, volumesAttached } }));
  for (const { volume } of confirmed) {
    const message = `AttachVolume.Attach succeeded for volume "${volume}"`;
    for (const pod of podsUsing(view, volume, nodeName))
      events.event(pod, "Normal", "SuccessfulAttachVolume", message);
  }
}

async function remove({ store, attachments }: AttachDetachEffects, name: string): Promise<void> {
  const known = attachments.get(name);
  try {
    const left = await store.delete(KubeVolumeAttachments, { name });
    attachments.deleted(left);
  } catch (error) {
    if (!isNotFound(error)) throw error;
    if (known !== undefined) attachments.gone(known);
  }
  afterDelete();
}
