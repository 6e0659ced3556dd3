import { DRIVER_NAME } from "@mooring/engine";
import { PersistentVolumes } from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainVolume } from "./explain-volume.ts";
import { type Finding, finding } from "./finding.ts";

/** A PersistentVolume: whose it is, why it does not go, and the volume behind it when that is ours. */
export async function explainPersistentVolume(context: Context, name: string): Promise<Finding> {
  const subject = `PersistentVolume ${name}`;
  const pv = await read(context, PersistentVolumes, { name });
  if (pv === undefined) return finding("failed", subject, "does not exist", { next: "kubectl get pv" });
  const { claimRef, csi, persistentVolumeReclaimPolicy: policy } = pv.spec ?? {};
  const { phase = "Pending", message, reason } = pv.status ?? {};
  const claim = claimRef === undefined ? "no claim" : `claim ${claimRef.namespace}/${claimRef.name}`;
  const children = csi?.driver === DRIVER_NAME ? [await explainVolume(context, csi.volumeHandle)] : [];
  const warning = await lastWarning(context, pv);
  const cause = message ?? warning?.message ?? reason;
  if (phase === "Failed" || (phase === "Released" && policy === "Delete" && cause !== undefined)) {
    const next = `put right what it says, and its deletion goes on: kubectl describe pv ${name}`;
    return finding("failed", subject, `${phase}, and cannot be deleted: ${cause}`, { children, next });
  }
  if (pv.metadata.deletionTimestamp !== undefined) {
    const finalizers = pv.metadata.finalizers?.join(", ") || "no finalizer";
    const next =
      phase === "Bound"
        ? `kubectl delete pvc -n ${claimRef?.namespace} ${claimRef?.name}`
        : `kubectl describe pv ${name}`;
    return finding("waiting", subject, `is being deleted; ${phase} to ${claim}, held by ${finalizers}`, {
      children,
      next,
    });
  }
  if (phase === "Released") {
    const next = `to use its data again: kubectl patch pv ${name} --type json -p '[{"op":"remove","path":"/spec/claimRef"}]'; to let them go: kubectl delete pv ${name}, and delete the volume of the driver`;
    return finding("ok", subject, `Released by ${claim}, and kept (${policy}); ${next}`, { children });
  }
  return finding("ok", subject, phase === "Available" ? "Available" : `${phase} to ${claim}`, { children });
}
