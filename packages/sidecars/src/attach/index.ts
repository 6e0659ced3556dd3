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
import { csiNodeHere, ifHere, nodeHere } from "../common/here.ts";
import { attacherFinalizer, PUBLISHED_VOLUME, PV_FINALIZER } from "../common/names.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { patchMetadata } from "../kube/patch.ts";
import { AttachEffects } from "./apply.ts";
import { type AttachStep, type AttachView, attachRequestKey, decideAttach } from "./decide.ts";
import type { Published } from "./protection.ts";
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
  const remembered = new Remembered(
    (name) => cluster.attachments.get(name)?.metadata.uid,
    (uid) => effects.forget(uid),
  );
  const attachments = sidecarController(context, {
    name: "attach",
    failpoints,
    sources: [source(cluster.attachments, ({ metadata }) => [metadata.name])],
    watched: [cluster.volumes, ...(context.here === undefined ? [cluster.nodes, cluster.csiNodes] : [])],
    read: (name, from, fresh) => readAttachment(from, effects, options, { name, fresh }),
    isGone: ({ attachment }: AttachView) => attachment === undefined,
    decide: decideAttach,
    apply(step: AttachStep, view, name) {
      remembered.note(name, view.attachment?.metadata.uid ?? "");
      return effects.apply(step, view, attachRequestKey(view));
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

async function readAttachment(
  { cluster, driver, here }: SidecarContext,
  effects: AttachEffects,
  { defaultFsType }: AttachOptions,
  { name, fresh }: { name: string; fresh: boolean },
): Promise<AttachView> {
  const found = fresh ? await cluster.attachments.refresh(name) : cluster.attachments.get(name);
  const attachment = here === undefined || found?.spec.nodeName === here.node ? found : undefined;
  const volumeName = attachment?.spec.source.persistentVolumeName ?? "";
  const volume =
    fresh && volumeName !== "" ? await cluster.volumes.refresh(volumeName) : cluster.volumes.get(volumeName);
  const uid = attachment?.metadata.uid ?? "";
  const view: AttachView = {
    driver: driver.info,
    attachment,
    volume,
    ...nodeObjects({ cluster, driver, here }, attachment?.spec.nodeName ?? ""),
    recorded: recordedOn(attachment),
    result: effects.results.get(uid),
    verify: effects.verify.has(uid),
    defaultFsType,
    backoffMs: 0,
  };
  return { ...view, backoffMs: effects.backoff.remaining(uid, attachRequestKey(view)) };
}

/** The objects that have the name by which the driver knows the node. */
function nodeObjects(
  { cluster, driver, here }: Pick<SidecarContext, "cluster" | "driver" | "here">,
  name: string,
): Pick<AttachView, "csiNode" | "node"> {
  return here === undefined
    ? { csiNode: cluster.csiNodes.get(name), node: cluster.nodes.get(name) }
    : { csiNode: csiNodeHere(here, driver.info.name), node: nodeHere(here) };
}

function recordedOn(attachment: KubeVolumeAttachment | undefined): Published | undefined {
  const text = attachment?.metadata.annotations?.[PUBLISHED_VOLUME];
  return text === undefined ? undefined : (JSON.parse(text) as Published);
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
  return {
    name: "attach/volumes",
    failpoints: releaseFailpoints,
    concurrency: 4,
    sources: [source(cluster.volumes, ({ metadata }) => [metadata.name])],
    watched: [cluster.attachments],
    read(name, from) {
      const volume = ifHere(here, from.cluster.volumes.get(name));
      if (volume === undefined || !isDeleting(volume) || !hasFinalizer(volume, finalizer))
        return { volume, free: false };
      // The controller that deletes its data takes both finalizers off at once; two who write one object meet conflicts.
      if (hasFinalizer(volume, PV_FINALIZER)) return { volume, free: false };
      return { volume, free: from.cluster.attachments.byIndex("volume", name).length === 0 };
    },
    isGone: ({ volume }) => volume === undefined,
    decide: ({ free }) => (free ? { do: "release-volume" } : DONE),
    async apply(_, { volume }) {
      if (volume === undefined) return;
      await patchMetadata(store, cluster.volumes, volume, { removeFinalizers: [finalizer] });
    },
  };
}
