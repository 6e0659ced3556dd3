import { failpoint, isDeleting, type PersistentVolume } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import {
  attacherFinalizer,
  DELETION_SECRET_NAME,
  DELETION_SECRET_NAMESPACE,
  PV_FINALIZER,
} from "../common/names.ts";
import { deleted, labelsOfVolume } from "../common/volume-metrics.ts";
import { callFailure, minBackoff } from "../csi/codes.ts";
import { deleteObject, patchMetadata } from "../kube/patch.ts";
import { readSecretIfAny } from "../secrets/read.ts";
import { type SecretRef, STORAGE_CLASS_ROLES, secretReference } from "../secrets/references.ts";
import type { ReclaimStep } from "./decide.ts";

/** Passed when the driver has deleted the data: a call that it refuses ends the same step, and does not come here. */
const dataDeleted = failpoint("sidecars/reclaim/data-deleted");

/** Carries out steps, and remembers by the volume's UID what the driver returned. */
export class ReclaimEffects {
  readonly backoff: Backoff;
  /** UIDs of volumes whose data is gone, until their objects are. */
  readonly removed = new Set<string>();
  readonly #context: SidecarContext;
  readonly #signal: AbortSignal;

  constructor(context: SidecarContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
    this.backoff = Backoff.of(context);
  }

  /** Makes the one change of a step, or the one call of the driver. */
  async apply(step: ReclaimStep, volume: PersistentVolume): Promise<void> {
    const { store, cluster, events } = this.#context;
    const uid = volume.metadata.uid ?? "";
    switch (step.do) {
      case "add-finalizer":
        await patchMetadata(store, cluster.volumes, volume, { addFinalizers: [PV_FINALIZER] });
        return;
      case "drop-finalizer":
        await patchMetadata(store, cluster.volumes, volume, { removeFinalizers: this.#finalizersOf(volume) });
        this.removed.delete(uid);
        return;
      case "delete-object":
        await deleteObject(store, cluster.volumes, volume);
        if (cluster.volumes.get(volume.metadata.name) === undefined) this.removed.delete(uid);
        return;
      case "report-attached":
        events.event(
          volume,
          "Warning",
          "VolumeFailedDelete",
          `persistentvolume ${volume.metadata.name} is still attached to node ${step.nodes.join(", ")}`,
        );
        return void this.backoff.fail(uid, "delete");
      case "delete-data":
        return this.#deleteData(volume);
    }
  }

  /** With the attacher's, when nothing is attached any more: one under deletion is not attached again. */
  #finalizersOf(volume: PersistentVolume): string[] {
    const { cluster, driver } = this.#context;
    const attachments = cluster.attachments.byIndex("volume", volume.metadata.name);
    const isFree = isDeleting(volume) && attachments.length === 0;
    return [PV_FINALIZER, ...(isFree ? [attacherFinalizer(driver.info.name)] : [])];
  }

  async #deleteData(volume: PersistentVolume): Promise<void> {
    const signal = this.#signal;
    const { driver, events, logger, store, timeoutMs } = this.#context;
    const uid = volume.metadata.uid ?? "";
    const begun = performance.now();
    try {
      const secrets = await readSecretIfAny(store, this.#deletionSecret(volume), signal);
      const volumeId = volume.spec?.csi?.volumeHandle ?? "";
      await driver.client.controller.deleteVolume({ volumeId, secrets }, { signal, timeoutMs });
      dataDeleted();
      deleted.done(labelsOfVolume(volume), (performance.now() - begun) / 1000);
      this.removed.add(uid);
      this.backoff.reset(uid);
    } catch (error) {
      if (signal.aborted) throw error;
      deleted.failed(labelsOfVolume(volume));
      const failure = callFailure(error);
      const { code, message } = failure;
      this.backoff.fail(uid, "delete", minBackoff(failure, 0));
      logger.warn({ volume: volume.metadata.name, code, error: message }, "DeleteVolume failed");
      events.event(volume, "Warning", "VolumeFailedDelete", message);
    }
  }

  /** Recorded on the volume when it was made; for older volumes what the class has now; else none. */
  #deletionSecret(volume: PersistentVolume): SecretRef | undefined {
    const { annotations = {}, name } = volume.metadata;
    const [secret, namespace] = [annotations[DELETION_SECRET_NAME], annotations[DELETION_SECRET_NAMESPACE]];
    if (secret !== undefined && namespace !== undefined)
      return secret === "" || namespace === "" ? undefined : { name: secret, namespace };
    const className = volume.spec?.storageClassName;
    const storageClass = className ? this.#context.cluster.classes.get(className) : undefined;
    const claim = volume.spec?.claimRef;
    return secretReference(STORAGE_CLASS_ROLES.provisioner, storageClass?.parameters ?? {}, {
      namespace: { "pv.name": name, "pvc.namespace": claim?.namespace ?? "" },
      name: { "pvc.name": claim?.name ?? "" },
    });
  }
}
