import type { ManagerContext } from "./context.ts";
import {
  expandOnNode,
  publishVolume,
  stageVolume,
  unpublishVolume,
  unstageVolume,
} from "./csi-volume-entry.ts";
import type { CsiVolumeEntry } from "./csi-volume-table.ts";
import type { ActiveCsiVolumeStep, CsiVolumeStep } from "./decide.ts";
import { finishExpansion } from "./expansion.ts";
import { needsAttach, pendingExpansion } from "./read.ts";

/**
 * Carries out one step. Before the driver is asked the state becomes `maybe`: while the call runs, and when it fails,
 * it is not known what is there.
 */
export async function applyCsiVolumeStep(
  context: ManagerContext,
  key: string,
  entry: CsiVolumeEntry,
  step: ActiveCsiVolumeStep,
): Promise<void> {
  const { inUse, signal } = context;
  switch (step.do) {
    case "report-in-use":
      // Attaching takes longer, and must not wait for the disk behind this one.
      return inUse.add(key, { patient: !isReportedAttached(context, key) });
    case "report-unused":
      return inUse.remove(key);
    case "stage":
      entry.staged = "maybe";
      await stageVolume(context, entry.record, needsAttach(context.view, entry), signal);
      entry.staged = "yes";
      return;
    case "unstage":
      entry.staged = "maybe";
      await unstageVolume(context, entry.record, signal);
      entry.staged = "no";
      return;
    case "publish":
      return publish(context, entry, step.podUID);
    case "republish":
      return republish(context, entry, step.podUID);
    case "unpublish":
      entry.publications.set(step.podUID, "maybe");
      await unpublishVolume(context, entry.record, step.podUID, signal);
      context.table.unpublished(entry, step.podUID);
      return context.changed(step.podUID);
    case "expand":
      return expand(context, entry);
  }
}

/** It may be the controller's list of before, of a volume that has just been released: then a pod does wait. */
function isReportedAttached({ view, nodeName }: ManagerContext, key: string): boolean {
  const { volumesAttached = [] } = view.nodes.get(nodeName)?.status ?? {};
  return volumesAttached.some(({ name }) => name === key);
}

async function publish(context: ManagerContext, entry: CsiVolumeEntry, podUID: string): Promise<void> {
  const want = entry.wants.get(podUID);
  if (want === undefined) return;
  entry.publications.set(podUID, "maybe");
  const needed = needsAttach(context.view, entry);
  await publishVolume(context, entry.record, { use: want, needsAttach: needed }, context.signal);
  await noteMount(context, entry, podUID);
  entry.publications.set(podUID, "yes");
  entry.publishedAt.set(podUID, performance.now());
  context.changed(podUID);
}

/** Right behind the driver's response is what the driver makes of a volume: one that mounts nothing is no mount lost later. */
async function noteMount(
  { host, paths }: ManagerContext,
  { record, mountless }: CsiVolumeEntry,
  podUID: string,
): Promise<void> {
  const { specVolID, volumeMode } = record;
  const target = paths.publishTarget(podUID, specVolID, volumeMode === "Block");
  const mounts = await host.mounts.at(target);
  if (mounts.length === 0) mountless.add(podUID);
  else mountless.delete(podUID);
}

/** Publishes the volume again. When that fails it stays published: the pod goes on with what it has. */
async function republish(context: ManagerContext, entry: CsiVolumeEntry, podUID: string): Promise<void> {
  const want = entry.wants.get(podUID);
  if (want === undefined) return;
  const needed = needsAttach(context.view, entry);
  await publishVolume(context, entry.record, { use: want, needsAttach: needed }, context.signal);
  entry.publishedAt.set(podUID, performance.now());
}

async function expand(context: ManagerContext, entry: CsiVolumeEntry): Promise<void> {
  const { store, view, events, nodeName, signal } = context;
  const { record, publications, wants } = entry;
  const bytes = pendingExpansion(context.view, entry);
  if (bytes === undefined) return;
  const published = [...publications].find(([, state]) => state === "yes")?.[0];
  await expandOnNode(context, record, { requiredBytes: bytes, publishedFor: published }, signal);
  await finishExpansion(store, view.volumes.get(record.specVolID));
  const message = `MountVolume.NodeExpandVolume succeeded for volume "${record.specVolID}" ${nodeName}`;
  for (const { pod } of wants.values()) events.event(pod, "Normal", "FileSystemResizeSuccessful", message);
}

/** The event's reason of a failure, and the step's name in Kubernetes' messages. */
const FAILURES: Partial<Record<CsiVolumeStep["do"], readonly [reason: string, operation: string]>> = {
  stage: ["FailedMount", "MountVolume.MountDevice"],
  publish: ["FailedMount", "MountVolume.SetUp"],
  republish: ["FailedMount", "MountVolume.SetUp"],
  unpublish: ["FailedUnMount", "UnmountVolume.TearDown"],
  unstage: ["FailedUnMount", "UnmountDevice"],
  expand: ["FileSystemResizeFailed", "MountVolume.NodeExpandVolume"],
};

/** Lets the pods that wait for the volume know why they do. */
export function reportFailure(
  { events }: ManagerContext,
  { record, wants }: CsiVolumeEntry,
  step: ActiveCsiVolumeStep,
  error: unknown,
): void {
  const text = error instanceof Error ? error.message : String(error);
  const [reason, operation] = FAILURES[step.do] ?? ["FailedMount", step.do];
  const message = `${operation} failed for volume "${record.specVolID}" : ${text}`;
  for (const { pod } of wants.values()) events.event(pod, "Warning", reason, message);
}
