import { DRIVER_NAME, Snapshots } from "@mooring/engine";
import { VolumeSnapshotContents, VolumeSnapshots } from "@mooring/store";
import { type Context, lastWarning, read } from "./context.ts";
import { type Finding, finding } from "./finding.ts";

/** Mooring's own snapshot. */
export async function explainEngineSnapshot(context: Context, name: string): Promise<Finding> {
  const subject = `Snapshot ${name}`;
  const snapshot = await read(context, Snapshots, { name });
  if (snapshot === undefined)
    return finding("failed", subject, "does not exist", {
      next: "kubectl get snapshots.storage.mooring.dev",
    });
  const { status } = snapshot;
  if (status?.error !== undefined)
    return finding("failed", subject, `${status.error.code}: ${status.error.message}`);
  return status?.readyToUse === true
    ? finding("ok", subject, `ready, created at ${status.creationTime}`)
    : finding("waiting", subject, `is being made from ${snapshot.spec.volume}`);
}

async function behind(context: Context, contentName: string | undefined): Promise<Finding[]> {
  if (contentName === undefined) return [];
  const subject = `VolumeSnapshotContent ${contentName}`;
  const content = await read(context, VolumeSnapshotContents, { name: contentName });
  if (content === undefined) return [finding("failed", subject, "does not exist")];
  const handle = content.status?.snapshotHandle;
  const children =
    handle !== undefined && content.spec.driver === DRIVER_NAME
      ? [await explainEngineSnapshot(context, handle)]
      : [];
  const error = content.status?.error?.message;
  if (error !== undefined) {
    const next = `put right what it says: kubectl describe volumesnapshotcontent ${contentName}`;
    return [finding("failed", subject, error, { children, next })];
  }
  const ready = content.status?.readyToUse === true;
  return [
    finding(ready ? "ok" : "waiting", subject, ready ? "ready" : `waits for ${content.spec.driver}`, {
      children,
    }),
  ];
}

/** A user's snapshot, down to the image behind it. */
export async function explainSnapshot(context: Context, namespace: string, name: string): Promise<Finding> {
  const subject = `VolumeSnapshot ${namespace}/${name}`;
  const snapshot = await read(context, VolumeSnapshots, { namespace, name });
  if (snapshot === undefined) {
    return finding("failed", subject, "does not exist", {
      next: `kubectl get volumesnapshots -n ${namespace}`,
    });
  }
  const children = await behind(context, snapshot.status?.boundVolumeSnapshotContentName);
  if (snapshot.status?.readyToUse === true) return finding("ok", subject, "ready to use", { children });
  const claim = snapshot.spec.source.persistentVolumeClaimName;
  if (claim !== undefined && children.length === 0)
    children.push(await context.explain("pvc", namespace, claim));
  const error = snapshot.status?.error?.message ?? (await lastWarning(context, snapshot))?.message;
  if (error === undefined) return finding("waiting", subject, "not ready yet", { children });
  return finding("failed", subject, error, {
    children,
    next: afterSnapshotError(error, `volumesnapshot -n ${namespace} ${name}`),
  });
}

/** What to do about an error of a snapshot or a group snapshot; `target`: how kubectl names the object. */
export function afterSnapshotError(error: string, target: string): string {
  const missing = /^(volumesnapshotclass|volumegroupsnapshotclass) (\S+) does not exist/.exec(error);
  if (missing !== null) {
    const [, kind, className] = missing;
    return `create ${kind} ${className}, or name another one: kubectl get ${kind}`;
  }
  return `put right what it says, and it goes on by itself: kubectl describe ${target}`;
}
