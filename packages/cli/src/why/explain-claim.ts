import { DRIVER_NAME } from "@mooring/engine";
import {
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  StorageClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { explainVolume } from "./explain-volume.ts";
import { type Finding, finding } from "./finding.ts";

const SELECTED_NODE = "volume.kubernetes.io/selected-node";

async function unbound(context: Context, subject: string, claim: PersistentVolumeClaim): Promise<Finding> {
  const className = claim.spec?.storageClassName;
  if (className === undefined) {
    return finding("waiting", subject, "no StorageClass is named and none is the default", {
      next: "set spec.storageClassName, or mark a class as default",
    });
  }
  const storageClass =
    className === "" ? undefined : await read(context, StorageClasses, { name: className });
  if (className !== "" && storageClass === undefined) {
    return finding("failed", subject, `StorageClass ${className} does not exist`, {
      next: `create StorageClass ${className}, or create the claim again with another class (kubectl get sc)`,
    });
  }
  const source = claim.spec?.dataSource;
  if (source?.kind === "VolumeSnapshot") {
    const snapshot = await read(context, VolumeSnapshots, {
      namespace: claim.metadata.namespace ?? "default",
      name: source.name,
    });
    if (snapshot?.status?.readyToUse !== true) {
      return finding(
        "waiting",
        subject,
        `its source VolumeSnapshot ${source.name} is ${snapshot === undefined ? "missing" : "not ready"}`,
      );
    }
  }
  const warning = await lastWarning(context, claim);
  if (warning !== undefined) {
    return finding(
      "failed",
      subject,
      `${warning.reason}: ${warning.message} (${warning.count ?? 1} times; it is retried)`,
    );
  }
  const waitsForPod =
    storageClass?.volumeBindingMode === "WaitForFirstConsumer" &&
    claim.metadata.annotations?.[SELECTED_NODE] === undefined;
  if (waitsForPod) {
    return finding(
      "waiting",
      subject,
      `its class ${className} binds when a Pod uses the claim, and none does yet`,
      {
        next: "create a Pod that mounts it",
      },
    );
  }
  return finding(
    "waiting",
    subject,
    `waits for ${storageClass?.provisioner ?? "a matching PersistentVolume"}`,
  );
}

/** A claim, down to the volume behind it. */
export async function explainClaim(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `PersistentVolumeClaim ${namespace}/${name}`;
  const claim = await read(context, PersistentVolumeClaims, { namespace, name });
  if (claim === undefined) {
    return finding("failed", subject, "does not exist", { next: `kubectl get pvc -n ${namespace}` });
  }
  const volumeName = claim.spec?.volumeName;
  if (claim.status?.phase !== "Bound" || volumeName === undefined) return unbound(context, subject, claim);
  const pv = await read(context, PersistentVolumes, { name: volumeName });
  const children = [];
  if (pv?.spec?.csi?.driver === DRIVER_NAME)
    children.push(await explainVolume(context, pv.spec.csi.volumeHandle));
  if (claim.metadata.deletionTimestamp !== undefined) {
    return finding("waiting", subject, `is being deleted; held by ${claim.metadata.finalizers?.join(", ")}`, {
      children,
    });
  }
  const resizing = claim.status.conditions?.find(
    (entry) => entry.status === "True" && /Resiz/.test(entry.type),
  );
  if (resizing !== undefined) {
    return finding("waiting", subject, `${resizing.type}: ${resizing.message ?? "growing"}`, { children });
  }
  return finding("ok", subject, `bound to ${volumeName}`, { children });
}
