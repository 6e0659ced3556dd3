import { DRIVER_NAME, type VolumeAttachment, VolumeAttachments } from "@mooring/engine";
import { type KubeVolumeAttachment, KubeVolumeAttachments, PersistentVolumes } from "@mooring/store";
import { type Context, read } from "./context.ts";
import { explainTickets } from "./explain-ticket.ts";
import { explainVolume } from "./explain-volume.ts";
import { type Finding, finding } from "./finding.ts";

/** An attachment by name: Mooring's, which has a volume's tickets, or one of Kubernetes. */
export async function explainAttachment(context: Context, name: string): Promise<Finding> {
  const own = await read(context, VolumeAttachments, { name });
  if (own !== undefined) return ofTickets(own);
  const theirs = await read(context, KubeVolumeAttachments, { name });
  if (theirs !== undefined) return ofKubernetes(context, theirs);
  return finding("failed", `VolumeAttachment ${name}`, "does not exist", {
    next: "kubectl get volumeattachments.storage.mooring.dev,volumeattachments.storage.k8s.io",
  });
}

function ofTickets(attachment: VolumeAttachment): Finding {
  const subject = `VolumeAttachment ${attachment.metadata.name}`;
  const { holder = "", nodeID = "", waiting = 0, state = "not evaluated yet" } = attachment.status ?? {};
  const children = explainTickets(attachment, new Date());
  const placement = holder === "" ? "held by no ticket" : `held by ${holder} on node ${nodeID}`;
  const message = `${placement} (${state}), ${waiting} waiting`;
  if (attachment.metadata.deletionTimestamp !== undefined) {
    const next = `it goes with the volume; tickets end with: mooring volume detach ${attachment.spec.volume}`;
    return finding("waiting", subject, `is being deleted, but ${message}`, { children, next });
  }
  return finding("ok", subject, message, { children });
}

/** Kubernetes' own attachment, down to the volume and its tickets when it is one of ours. */
export async function ofKubernetes(context: Context, attachment: KubeVolumeAttachment): Promise<Finding> {
  const { metadata, spec, status } = attachment;
  const subject = `VolumeAttachment ${metadata.name} (Kubernetes, node ${spec.nodeName})`;
  const pv = await read(context, PersistentVolumes, { name: spec.source.persistentVolumeName ?? "" });
  const csi = pv?.spec?.csi;
  const children = csi?.driver === DRIVER_NAME ? [await explainVolume(context, csi.volumeHandle)] : [];
  const error = status?.detachError?.message ?? status?.attachError?.message;
  if (error !== undefined) return finding("failed", subject, error, { children });
  if (metadata.deletionTimestamp !== undefined) {
    return finding("waiting", subject, `is being detached by ${spec.attacher}`, { children });
  }
  if (status?.attached === true) return finding("ok", subject, "attached", { children });
  return finding("waiting", subject, `waits for ${spec.attacher} to attach it`, { children });
}
