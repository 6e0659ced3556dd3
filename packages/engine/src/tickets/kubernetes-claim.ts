import { createHash } from "node:crypto";
import type { AttachmentTicket } from "../api/attachment.ts";
import { DRIVER_NAME } from "../api/names.ts";

/** A Kubernetes VolumeAttachment that is about one of our volumes: Kubernetes' own record of who may use it. */
export interface KubernetesClaim {
  name: string;
  uid: string;
  /** Our node id of the Kubernetes node that it names. */
  nodeID: string;
  /** Kubernetes has reported to the node that the device is there. */
  attached: boolean;
  /** On its way out: its detach has begun, or is about to. */
  deleting: boolean;
}

/** Key of the kind in `owner` references. */
const KUBERNETES_OWNER = { apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment" } as const;

/** Ticket id of a volume that CSI published: the name that Kubernetes gives to its own attachment object. */
export function csiTicketId(volume: string, nodeID: string): string {
  return `csi-${createHash("sha256").update(`${volume}${DRIVER_NAME}${nodeID}`).digest("hex")}`;
}

/** The VolumeAttachment of Kubernetes that a ticket lives and dies with. */
export function ownerOf({ name, uid }: KubernetesClaim): NonNullable<AttachmentTicket["owner"]> {
  return { ...KUBERNETES_OWNER, name, uid };
}

/** True for a ticket that stands for a Kubernetes attachment and dies with it. */
export function isOwnedByKubernetes({ owner }: AttachmentTicket): boolean {
  return owner?.apiVersion === KUBERNETES_OWNER.apiVersion && owner.kind === KUBERNETES_OWNER.kind;
}
