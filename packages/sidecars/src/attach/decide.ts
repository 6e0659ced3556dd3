import {
  type CSINode,
  DONE,
  defined,
  hasFinalizer,
  isDeleting,
  type KubeVolumeAttachment,
  type Node,
  type Outcome,
  type PersistentVolume,
  wait,
} from "@mooring/store";
import { ATTACHED_NODE_ID, attacherFinalizer, NODE_IDS } from "../common/names.ts";
import { chooseMode } from "../csi/access-modes.ts";
import type { Capability } from "../csi/capability.ts";
import type { DriverInfo } from "../csi/driver-info.ts";
import { parseNodeIds } from "../node-registration/decide.ts";
import { type Published, publishedFor } from "./protection.ts";

/** Arguments of ControllerPublishVolume, besides the secrets themselves. */
export interface PublishArguments extends Published {
  capability: Capability;
  readonly: boolean;
  attributes: Record<string, string>;
}

/** What the driver returned last in this process. */
export type AttachResult =
  | { kind: "published"; context: Record<string, string> }
  | { kind: "unpublished" }
  | { kind: "failed"; message: string; code?: number };

/** Everything that the next step for a VolumeAttachment depends on. */
export interface AttachView {
  driver: DriverInfo;
  attachment: KubeVolumeAttachment | undefined;
  volume: PersistentVolume | undefined;
  csiNode: CSINode | undefined;
  node: Node | undefined;
  /** Read from the attachment's annotation. */
  recorded: Published | undefined;
  result: AttachResult | undefined;
  /** The driver was seen to disagree with the attachment's status. */
  verify: boolean;
  defaultFsType: string;
  backoffMs: number;
}

/** One visible change for a VolumeAttachment, or one call to the driver. */
export type AttachStep =
  | { do: "mark-attached"; context: Record<string, string> }
  /** `volume`: lacks the finalizer; `published`: what the attachment is to note, with the finalizer. */
  | { do: "protect"; volume?: PersistentVolume; published?: Published }
  | { do: "publish"; arguments: PublishArguments }
  | { do: "unpublish"; published: Published }
  | { do: "release-attachment" }
  | { do: "mark-detached" }
  | { do: "report"; phase: "attach" | "detach"; message: string; code?: number };

/** Whether anything is to be done about an attachment that says this, whatever else there is. */
export function isUnsettled({ metadata, spec, status }: KubeVolumeAttachment, driver: string): boolean {
  return spec.attacher === driver && (status?.attached !== true || metadata.deletionTimestamp !== undefined);
}

/** The next step for one Kubernetes VolumeAttachment (K8S-035 to K8S-054). */
export function decideAttach(view: AttachView): AttachStep | Outcome {
  const { attachment, driver } = view;
  if (attachment?.spec.attacher !== driver.name) return DONE;
  const attached = attachment.status?.attached === true;
  if (!driver.controller || !driver.can.has("PUBLISH_UNPUBLISH_VOLUME"))
    return attached || isDeleting(attachment) ? DONE : { do: "mark-attached", context: {} };
  if (isDeleting(attachment)) return decideDetach(view, attachment);
  if (attached && !view.verify) return DONE;
  return decidePublish(view, attachment);
}

function decidePublish(view: AttachView, attachment: KubeVolumeAttachment): AttachStep | Outcome {
  const { result } = view;
  if (result?.kind === "published") return { do: "mark-attached", context: result.context };
  if (view.backoffMs > 0) return wait(view.backoffMs);
  const wanted = publishArguments(view, attachment);
  if ("error" in wanted) return { do: "report", phase: "attach", message: wanted.error };
  return protection(view, attachment, wanted.arguments) ?? { do: "publish", arguments: wanted.arguments };
}

/** Written before the driver is called, in any order: only a call needs what undoes it. */
function protection(
  { driver, recorded, volume }: AttachView,
  attachment: KubeVolumeAttachment,
  { handle, nodeId, secret }: PublishArguments,
): AttachStep | undefined {
  const finalizer = attacherFinalizer(driver.name);
  const bare = volume !== undefined && !hasFinalizer(volume, finalizer) ? volume : undefined;
  const noted = recorded?.nodeId === nodeId && recorded.handle === handle;
  const isProtected = noted && hasFinalizer(attachment, finalizer);
  if (bare === undefined && isProtected) return undefined;
  const published = isProtected ? undefined : { handle, nodeId, ...defined({ secret }) };
  return { do: "protect", ...defined({ volume: bare, published }) };
}

function decideDetach(view: AttachView, attachment: KubeVolumeAttachment): AttachStep | Outcome {
  const finalizer = attacherFinalizer(view.driver.name);
  if (!hasFinalizer(attachment, finalizer)) {
    // Another controller's finalizer keeps the object: its status reports what our part has come to.
    return attachment.status?.attached === true && view.result?.kind === "unpublished"
      ? { do: "mark-detached" }
      : DONE;
  }
  if (view.result?.kind === "unpublished") {
    // While our finalizer is on it: killed behind its removal, no controller would know any more that the volume is detached.
    const isKept = (attachment.metadata.finalizers ?? []).length > 1;
    return isKept && attachment.status?.attached === true
      ? { do: "mark-detached" }
      : { do: "release-attachment" };
  }
  if (view.backoffMs > 0) return wait(view.backoffMs);
  const published = publishedVolume(view, attachment);
  return published === undefined
    ? {
        do: "report",
        phase: "detach",
        message: "neither the volume's object nor a record identifies what to detach",
      }
    : { do: "unpublish", published };
}

/** The PersistentVolume as it is, else what the attachment noted of it before the call. */
function publishedVolume(view: AttachView, attachment: KubeVolumeAttachment): Published | undefined {
  const { recorded, volume } = view;
  const csi = volume?.spec?.csi ?? attachment.spec.source.inlineVolumeSpec?.csi;
  const nodeId = nodeIdOf(view) ?? attachment.metadata.annotations?.[ATTACHED_NODE_ID] ?? recorded?.nodeId;
  if (nodeId === undefined) return undefined;
  if (csi !== undefined) return publishedFor(csi, nodeId);
  return recorded === undefined ? undefined : { ...recorded, nodeId };
}

function publishArguments(
  view: AttachView,
  { spec: { nodeName, source } }: KubeVolumeAttachment,
): { arguments: PublishArguments } | { error: string } {
  const { defaultFsType, driver, volume } = view;
  const { inlineVolumeSpec, persistentVolumeName } = source;
  if ((inlineVolumeSpec === undefined) === !persistentVolumeName)
    return { error: "exactly one of inlineVolumeSpec and persistentVolumeName must be set in the source" };
  if (inlineVolumeSpec === undefined && volume === undefined)
    return { error: `PersistentVolume "${persistentVolumeName}" does not exist` };
  if (volume !== undefined && isDeleting(volume))
    return { error: `PersistentVolume "${volume.metadata.name}" is marked for deletion` };
  const spec = inlineVolumeSpec ?? volume?.spec;
  const csi = spec?.csi;
  if (csi === undefined) return { error: `PersistentVolume "${persistentVolumeName}" is not a CSI volume` };
  if (csi.driver !== driver.name)
    return { error: `the volume is of driver ${csi.driver}, the attachment is for ${driver.name}` };
  const choice = chooseMode(spec?.accessModes ?? [], driver.can.has("SINGLE_NODE_MULTI_WRITER"));
  if ("error" in choice) return choice;
  const nodeId = nodeIdOf(view);
  if (nodeId === undefined) return { error: `CSINode ${nodeName} does not contain driver ${driver.name}` };
  const mount = { fsType: csi.fsType || defaultFsType, mountFlags: spec?.mountOptions ?? [] };
  return {
    arguments: {
      ...publishedFor(csi, nodeId),
      capability: spec?.volumeMode === "Block" ? choice : { ...choice, mount },
      readonly: driver.can.has("PUBLISH_READONLY") && csi.readOnly === true,
      attributes: csi.volumeAttributes ?? {},
    },
  };
}

/** The key of a back-off after a failure: when it changes, the driver may be called at once. */
export function attachRequestKey(view: AttachView): string {
  const { attachment } = view;
  if (attachment === undefined) return "";
  return isDeleting(attachment)
    ? JSON.stringify(["detach", publishedVolume(view, attachment)])
    : JSON.stringify(["attach", publishArguments(view, attachment)]);
}

/** From the CSINode, else from the annotation that registrars wrote before there were CSINodes (K8S-020). */
function nodeIdOf({ csiNode, driver, node }: AttachView): string | undefined {
  const entry = csiNode?.spec.drivers.find(({ name }) => name === driver.name);
  return entry?.nodeID ?? parseNodeIds(node?.metadata.annotations?.[NODE_IDS])[driver.name];
}
