import {
  DONE,
  hasFinalizer,
  isDeleting,
  type KubeVolumeAttachment,
  type PersistentVolume,
  stepFailpoints,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { type SidecarController, sidecarController } from "../common/controller.ts";
import { ifHere } from "../common/here.ts";
import { attacherFinalizer, PV_FINALIZER } from "../common/names.ts";
import { Remembered, uidWhile } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { patchMetadata } from "../kube/patch.ts";
import { AttachEffects } from "./apply.ts";
import { type AttachStep, type AttachView, attachRequestKey, decideAttach, isUnsettled } from "./decide.ts";
import { readAttachment } from "./read.ts";
import { runReconciliation } from "./reconcile-published.ts";

const failpoints = stepFailpoints<AttachStep>("sidecars/attach", {
  "mark-attached": true,
  protect: true,
  publish: true,
  unpublish: true,
  "release-attachment": true,
  "mark-detached": true,
  report: true,
});

const releaseFailpoints = stepFailpoints<ReleaseStep>("sidecars/attach", { "release-volume": true });

/** How volumes are attached. Times in milliseconds. */
export interface AttachOptions {
  /** File system named in capabilities of volumes that name none. */
  defaultFsType: string;
  /** Milliseconds between comparisons with the driver's ListVolumes; 0: never. */
  reconcileMs: number;
}

/** Carries out Kubernetes VolumeAttachments with ControllerPublishVolume and ControllerUnpublishVolume. */
export async function runAttach(
  context: SidecarContext,
  given: Partial<AttachOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { defaultFsType: "", reconcileMs: 60_000, ...given };
  const { cluster } = context;
  const effects = new AttachEffects(context);
  const matters = (attachment: KubeVolumeAttachment) => isUnsettled(attachment, context.driver.info.name);
  const isRemembered = (attachment: KubeVolumeAttachment) =>
    matters(attachment) || effects.verify.has(attachment.metadata.uid ?? "");
  const remembered = new Remembered(
    (name) => uidWhile(isRemembered, cluster.attachments.get(name)),
    (uid) => effects.forget(uid),
  );
  const attachments = sidecarController(context, {
    name: "attach",
    failpoints,
    sources: [source(cluster.attachments, ({ metadata }) => [metadata.name], matters)],
    watched: [cluster.volumes, ...(context.here === undefined ? [cluster.nodes, cluster.csiNodes] : [])],
    read: (name, from, fresh) => readAttachment(from, effects, options, { name, fresh }),
    isGone: ({ attachment }: AttachView) => attachment === undefined || !isRemembered(attachment),
    decide: decideAttach,
    apply(step: AttachStep, view, name) {
      remembered.note(name, view.attachment?.metadata.uid ?? "");
      return effects.apply(step, view, () => attachRequestKey(view));
    },
    ended: (name) => remembered.ended(name),
  });
  effects.wake = (name) => attachments.add(name);
  const volumes = sidecarController(context, volumeReleases(context));
  await Promise.all([
    attachments.run(signal),
    volumes.run(signal),
    runReconciliation(context, effects, options.reconcileMs, signal),
  ]);
}

type ReleaseStep = { do: "release-volume" };

interface ReleaseView {
  volume: PersistentVolume | undefined;
  /** Nothing is attached any more. */
  free: boolean;
}

/** A volume under deletion waits for its last attachment (K8S-041, K8S-042). */
function volumeReleases({
  cluster,
  driver,
  here,
  store,
}: SidecarContext): SidecarController<ReleaseView, ReleaseStep> {
  const finalizer = attacherFinalizer(driver.info.name);
  // The controller that deletes its data takes both finalizers off at once; two who write one object meet conflicts.
  const isLeaving = (volume: PersistentVolume) =>
    isDeleting(volume) && hasFinalizer(volume, finalizer) && !hasFinalizer(volume, PV_FINALIZER);
  return {
    name: "attach/volumes",
    failpoints: releaseFailpoints,
    concurrency: 4,
    sources: [source(cluster.volumes, ({ metadata }) => [metadata.name], isLeaving)],
    watched: [cluster.attachments],
    read(name, from) {
      const volume = ifHere(here, from.cluster.volumes.get(name));
      if (volume === undefined || !isLeaving(volume)) return { volume, free: false };
      return { volume, free: from.cluster.attachments.byIndex("volume", name).length === 0 };
    },
    isGone: ({ volume }) => volume === undefined || !isLeaving(volume),
    decide: ({ free }) => (free ? { do: "release-volume" } : DONE),
    async apply(_, { volume }) {
      if (volume === undefined) return;
      await patchMetadata(store, cluster.volumes, volume, { removeFinalizers: [finalizer] });
    },
  };
}
