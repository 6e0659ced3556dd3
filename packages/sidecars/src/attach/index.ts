import {
  failpoint,
  hasFinalizer,
  isDeleting,
  type KubeVolumeAttachment,
  runController,
  WorkQueue,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { attacherFinalizer, PUBLISHED_VOLUME } from "../common/names.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import { patchMetadata } from "../kube/patch.ts";
import { AttachEffects } from "./apply.ts";
import { type AttachView, attachRequestKey, decideAttach, type Published } from "./decide.ts";
import { runReconciliation } from "./reconcile-published.ts";

const volumeReleased = failpoint("sidecars/attach/volume-released");

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
  const { cluster, logger, concurrency } = context;
  const effects = new AttachEffects(context);
  const queue = new WorkQueue();
  effects.wake = (name) => queue.add(name);
  const attachments = runController(
    {
      name: "attach",
      queue,
      logger,
      concurrency,
      sources: [
        source(cluster.attachments, ({ metadata }) => [metadata.name]),
        source(cluster.volumes, ({ metadata }) =>
          namesOf(cluster.attachments.byIndex("volume", metadata.name)),
        ),
        source(cluster.nodes, ({ metadata }) => namesOf(cluster.attachments.byIndex("node", metadata.name))),
        source(cluster.csiNodes, ({ metadata }) =>
          namesOf(cluster.attachments.byIndex("node", metadata.name)),
        ),
      ],
      reconcile: (name) => reconcileAttachment(context, effects, options, name, signal),
    },
    signal,
  );
  const volumes = runController(
    {
      name: "attach/volumes",
      logger,
      sources: [
        source(cluster.volumes, ({ metadata }) => [metadata.name]),
        source(cluster.attachments, ({ spec }) => [spec.source.persistentVolumeName]),
      ],
      reconcile: (name) => releaseVolume(context, name),
    },
    signal,
  );
  await Promise.all([attachments, volumes, runReconciliation(context, effects, options.reconcileMs, signal)]);
}

const namesOf = (attachments: KubeVolumeAttachment[]) => attachments.map(({ metadata }) => metadata.name);

async function reconcileAttachment(
  { cluster, driver }: SidecarContext,
  effects: AttachEffects,
  { defaultFsType }: AttachOptions,
  name: string,
  signal: AbortSignal,
) {
  let uid: string | undefined;
  const look = async (fresh: boolean): Promise<AttachView> => {
    const attachment = fresh ? await cluster.attachments.refresh(name) : cluster.attachments.get(name);
    const volumeName = attachment?.spec.source.persistentVolumeName ?? "";
    const volume =
      fresh && volumeName !== ""
        ? await cluster.volumes.refresh(volumeName)
        : cluster.volumes.get(volumeName);
    uid = attachment?.metadata.uid ?? uid;
    const view: AttachView = {
      driver: driver.info,
      attachment,
      volume,
      csiNode: cluster.csiNodes.get(attachment?.spec.nodeName ?? ""),
      node: cluster.nodes.get(attachment?.spec.nodeName ?? ""),
      recorded: recordedOn(attachment),
      answer: effects.answers.get(uid ?? ""),
      verify: effects.verify.has(uid ?? ""),
      defaultFsType,
      pauseMs: 0,
    };
    return { ...view, pauseMs: effects.pauses.remaining(uid ?? "", attachRequestKey(view)) };
  };
  const result = await runSteps(
    { look, decide: decideAttach, apply: (step, view) => effects.apply(step, view, attachRequestKey(view)) },
    signal,
  );
  if (uid !== undefined && cluster.attachments.get(name)?.metadata.uid !== uid) effects.forget(uid);
  return result;
}

function recordedOn(attachment: KubeVolumeAttachment | undefined): Published | undefined {
  const text = attachment?.metadata.annotations?.[PUBLISHED_VOLUME];
  return text === undefined ? undefined : (JSON.parse(text) as Published);
}

/** A volume under deletion waits for its last attachment (K8S-041, K8S-042). */
async function releaseVolume({ cluster, driver, store }: SidecarContext, name: string): Promise<void> {
  const volume = cluster.volumes.get(name);
  const finalizer = attacherFinalizer(driver.info.name);
  if (volume === undefined || !isDeleting(volume) || !hasFinalizer(volume, finalizer)) return;
  if (cluster.attachments.byIndex("volume", name).length > 0) return;
  await patchMetadata(store, cluster.volumes, volume, { removeFinalizers: [finalizer] });
  volumeReleased();
}
