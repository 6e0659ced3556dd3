import {
  failpoint,
  getIfAny,
  isDeleting,
  type PersistentVolume,
  StorageClasses,
  stepFailpoints,
} from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { ifHere } from "../common/here.ts";
import {
  attacherFinalizer,
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  PV_FINALIZER,
} from "../common/names.ts";
import { source } from "../common/source.ts";
import { callFailure, minBackoff } from "../csi/codes.ts";
import { deleteObject, patchMetadata } from "../kube/patch.ts";
import { readSecretIfAny } from "../secrets/read.ts";
import { type SecretRef, STORAGE_CLASS_ROLES, secretReference } from "../secrets/references.ts";
import { decideReclaim, type ReclaimStep, type ReclaimView } from "./decide.ts";

/** Passed when the driver has deleted the data: a call that it refuses ends the same step, and does not come here. */
const dataDeleted = failpoint("sidecars/reclaim/data-deleted");

const failpoints = stepFailpoints<ReclaimStep>("sidecars/reclaim", {
  "add-finalizer": true,
  "drop-finalizer": true,
  "delete-data": true,
  "delete-object": true,
  "report-attached": true,
});

/** Deletes released volumes with policy Delete, data first; keeps the finalizer in step with the policy. */
export function runReclaim(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const reclaimer = new Reclaimer(context);
  // What is installed later is not watched, so it is not read either.
  const { cluster, hasGroupKinds, hasSnapshotKinds } = context;
  return sidecarController(context, {
    name: "reclaim",
    failpoints,
    sources: [source(cluster.volumes, ({ metadata }) => [metadata.name])],
    watched: [
      ...[cluster.attachments, cluster.records],
      ...(hasSnapshotKinds ? [cluster.contents] : []),
      ...(hasGroupKinds ? [cluster.groupContents] : []),
    ],
    read: (name, from, fresh) => reclaimer.read(name, { ...from, hasGroupKinds, hasSnapshotKinds }, fresh),
    isGone: ({ volume }: ReclaimView) => volume === undefined,
    decide: decideReclaim,
    async apply(step: ReclaimStep, { volume }) {
      if (volume !== undefined) await reclaimer.apply(step, volume, signal);
    },
  }).run(signal);
}

class Reclaimer {
  readonly #context: SidecarContext;
  readonly #backoff: Backoff;
  /** UIDs of volumes whose data is gone, until their objects are. */
  readonly #removed = new Set<string>();

  constructor(context: SidecarContext) {
    this.#context = context;
    this.#backoff = new Backoff({ ...context.retry, now: context.now });
  }

  async read(name: string, from: SidecarContext, fresh: boolean): Promise<ReclaimView> {
    const { cluster, driver, here } = from;
    const volume = ifHere(here, fresh ? await cluster.volumes.refresh(name) : cluster.volumes.get(name));
    const uid = volume?.metadata.uid ?? "";
    return {
      driver: driver.info,
      volume,
      attachments: cluster.attachments.byIndex("volume", name),
      recorded: cluster.records.byIndex("uid", volume?.spec?.claimRef?.uid ?? "").length > 0,
      copied: isCopied(from, volume),
      removed: this.#removed.has(uid),
      backoffMs: this.#backoff.remaining(uid, "delete"),
    };
  }

  async apply(step: ReclaimStep, volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { store, cluster, events } = this.#context;
    const uid = volume.metadata.uid ?? "";
    switch (step.do) {
      case "add-finalizer":
        await patchMetadata(store, cluster.volumes, volume, { addFinalizers: [PV_FINALIZER] });
        return;
      case "drop-finalizer":
        await patchMetadata(store, cluster.volumes, volume, { removeFinalizers: this.#finalizersOf(volume) });
        this.#removed.delete(uid);
        return;
      case "delete-object":
        await deleteObject(store, cluster.volumes, volume);
        if (cluster.volumes.get(volume.metadata.name) === undefined) this.#removed.delete(uid);
        return;
      case "report-attached":
        events.event(
          volume,
          "Warning",
          "VolumeFailedDelete",
          `persistentvolume ${volume.metadata.name} is still attached to node ${step.nodes.join(", ")}`,
        );
        return void this.#backoff.fail(uid, "delete");
      case "delete-data":
        return this.#deleteData(volume, signal);
    }
  }

  /** With the attacher's, when nothing is attached any more: one under deletion is not attached again. */
  #finalizersOf(volume: PersistentVolume): string[] {
    const { cluster, driver } = this.#context;
    const attachments = cluster.attachments.byIndex("volume", volume.metadata.name);
    const isFree = isDeleting(volume) && attachments.length === 0;
    return [PV_FINALIZER, ...(isFree ? [attacherFinalizer(driver.info.name)] : [])];
  }

  async #deleteData(volume: PersistentVolume, signal: AbortSignal): Promise<void> {
    const { driver, events, logger, store, timeoutMs } = this.#context;
    const uid = volume.metadata.uid ?? "";
    try {
      const secrets = await readSecretIfAny(store, await this.#deletionSecret(volume), signal);
      const volumeId = volume.spec?.csi?.volumeHandle ?? "";
      await driver.client.controller.deleteVolume({ volumeId, secrets }, { signal, timeoutMs });
      dataDeleted();
      this.#removed.add(uid);
      this.#backoff.reset(uid);
    } catch (error) {
      if (signal.aborted) throw error;
      const failure = callFailure(error);
      const { code, message } = failure;
      this.#backoff.fail(uid, "delete", minBackoff(failure, 0));
      logger.warn({ volume: volume.metadata.name, code, error: message }, "DeleteVolume failed");
      events.event(volume, "Warning", "VolumeFailedDelete", message);
    }
  }

  /** Recorded on the volume when it was made; for older volumes what the class has now; else none. */
  async #deletionSecret(volume: PersistentVolume): Promise<SecretRef | undefined> {
    const { annotations = {}, name } = volume.metadata;
    const [secret, namespace] = [annotations[DELETION_SECRET_NAME], annotations[DELETION_SECRET_NAMESPACE]];
    if (secret !== undefined && namespace !== undefined)
      return secret === "" || namespace === "" ? undefined : { name: secret, namespace };
    const className = volume.spec?.storageClassName;
    const storageClass = className
      ? await getIfAny(this.#context.store, StorageClasses, { name: className })
      : undefined;
    const claim = volume.spec?.claimRef;
    return secretReference(STORAGE_CLASS_ROLES.provisioner, storageClass?.parameters ?? {}, {
      namespace: { "pv.name": name, "pvc.namespace": claim?.namespace ?? "" },
      name: { "pvc.name": claim?.name ?? "" },
    });
  }
}

/** Whether a copy of the volume is under way. Asked only of released volumes: no other decision depends on it. */
function isCopied(
  { cluster, hasGroupKinds, hasSnapshotKinds }: SidecarContext,
  volume: PersistentVolume | undefined,
): boolean {
  const csi = volume?.spec?.csi;
  if (csi === undefined || volume?.status?.phase !== "Released") return false;
  const key = `${csi.driver}:${csi.volumeHandle}`;
  return (
    (hasSnapshotKinds && cluster.contents.byIndex("copied", key).length > 0) ||
    (hasGroupKinds && cluster.groupContents.byIndex("copied", key).length > 0)
  );
}
