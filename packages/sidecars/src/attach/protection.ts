import { defined, type PersistentVolume } from "@mooring/store";
import { ATTACHED_NODE_ID, attacherFinalizer, PUBLISHED_VOLUME } from "../common/names.ts";
import type { SecretRef } from "../secrets/references.ts";

/** What detaching needs. Kept on the attachment, because the volume's object may be gone by then. */
export interface Published {
  handle: string;
  nodeId: string;
  secret?: SecretRef;
}

type CSISource = NonNullable<NonNullable<PersistentVolume["spec"]>["csi"]>;

/** Of a CSI volume as it is in a PersistentVolume, or inline in an attachment. */
export function publishedFor(
  { volumeHandle: handle, controllerPublishSecretRef: ref }: CSISource,
  nodeId: string,
): Published {
  const secret = ref?.name && ref.namespace ? { name: ref.name, namespace: ref.namespace } : undefined;
  return { handle, nodeId, ...defined({ secret }) };
}

/** What a VolumeAttachment has from before the driver is asked: it cannot go without a detach call then. */
export interface AttachmentProtection {
  finalizers: [string];
  annotations: Record<string, string>;
}

/**
 * The attacher writes it before its call. An attach/detach controller that makes the attachments of a driver whose attacher
 * is in the same process may have them born with it, which saves that write.
 */
export function attachmentProtection(driver: string, published: Published): AttachmentProtection {
  return {
    finalizers: [attacherFinalizer(driver)],
    annotations: { [ATTACHED_NODE_ID]: published.nodeId, [PUBLISHED_VOLUME]: JSON.stringify(published) },
  };
}
