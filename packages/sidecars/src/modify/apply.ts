import { failpoint, type PersistentVolume, type PersistentVolumeClaim } from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { RESERVED_PARAMETERS } from "../common/names.ts";
import { rfc3339 } from "../common/time.ts";
import { callFailure, isInfeasible, isUncertain, minBackoff } from "../csi/codes.ts";
import { objectKey, patchStatus } from "../kube/patch.ts";
import { readSecret } from "../secrets/read.ts";
import { type ModifyResult, type ModifyStep, type ModifyView, modifyRequestKey } from "./decide.ts";
import type { ModifyOptions } from "./options.ts";
import { isReported, type ModifyStatusChange, modifyStatus } from "./status.ts";

/** Passed when the driver has modified the volume: a call that it refuses ends the same step, and does not come here. */
const modified = failpoint("sidecars/modify/modified");

type CallStep = Extract<ModifyStep, { do: "modify" }>;

/** Makes the changes that {@link decideModify} asks for, and remembers what the driver returned, by UID of the claim. */
export class ModifyEffects {
  readonly results = new Map<string, ModifyResult>();
  readonly backoff: Backoff;
  readonly #context: SidecarContext;
  readonly #options: ModifyOptions;
  readonly #signal: AbortSignal;

  constructor(context: SidecarContext, options: ModifyOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.#signal = signal;
    this.backoff = Backoff.of(context);
  }

  forget(uid: string): void {
    this.results.delete(uid);
    this.backoff.reset(uid);
  }

  async apply(step: ModifyStep, view: ModifyView): Promise<void> {
    const { claim, volume } = view;
    if (claim === undefined || volume === undefined) return;
    const { target } = step;
    switch (step.do) {
      case "announce": {
        this.results.delete(claim.metadata.uid ?? "");
        const condition = { type: "ModifyingVolume", message: "" } as const;
        await this.#status(claim, { progress: { status: "InProgress", target }, condition });
        this.#event(claim, "Normal", "VolumeModify", `modifying volume ${volume.metadata.name} to ${target}`);
        return;
      }
      case "modify":
        return this.#modify(step, view, claim);
      case "write-volume":
        await this.#writeVolume(volume, target);
        return;
      case "finish":
        return this.#finish(claim, volume, target);
      case "report": {
        this.backoff.fail(claim.metadata.uid ?? "", modifyRequestKey(view), this.#context.retry.infeasibleMs);
        return this.#failed(claim, { status: step.status, target }, step.message);
      }
      case "cancel":
        await this.#status(claim, {});
        this.forget(claim.metadata.uid ?? "");
        this.#event(
          claim,
          "Normal",
          "VolumeModifyCanceled",
          `the change to ${target} is not wanted any more`,
        );
        return;
    }
  }

  async #modify(step: CallStep, view: ModifyView, claim: PersistentVolumeClaim): Promise<void> {
    const { driver, logger, retry, store, timeoutMs } = this.#context;
    const { uid = "", name, namespace } = claim.metadata;
    const { target } = step;
    try {
      await driver.client.controller.controllerModifyVolume(
        {
          volumeId: step.handle,
          mutableParameters: { ...step.parameters, ...this.#metadata(view) },
          secrets: await readSecret(store, step.secret),
        },
        { signal: this.#signal, timeoutMs },
      );
      modified();
      this.results.set(uid, { kind: "modified", target });
      this.backoff.reset(uid);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      const failure = callFailure(error);
      this.backoff.fail(uid, modifyRequestKey(view), minBackoff(failure, retry.infeasibleMs));
      logger.warn(
        { claim: `${namespace}/${name}`, code: failure.code, error: failure.message },
        "ControllerModifyVolume failed",
      );
      // Uncertain: the change may still come about, and stays the one to finish.
      if (!isUncertain(failure)) this.results.set(uid, { kind: "refused", target });
      const status = isInfeasible(failure) ? "Infeasible" : "InProgress";
      await this.#failed(claim, { status, target }, failure.message);
    }
  }

  async #writeVolume(volume: PersistentVolume, target: string): Promise<void> {
    const { store, cluster } = this.#context;
    const { uid, resourceVersion } = volume.metadata;
    const body = { metadata: { uid, resourceVersion }, spec: { volumeAttributesClassName: target } };
    const { resource } = cluster.volumes;
    cluster.volumes.wrote(await store.patch(resource, objectKey(volume), { type: "merge", body }));
  }

  #metadata({ claim, volume }: ModifyView): Record<string, string> {
    if (!this.#options.extraModifyMetadata || claim === undefined) return {};
    return {
      [`${RESERVED_PARAMETERS}pvc/name`]: claim.metadata.name,
      [`${RESERVED_PARAMETERS}pvc/namespace`]: claim.metadata.namespace ?? "",
      [`${RESERVED_PARAMETERS}pv/name`]: volume?.metadata.name ?? "",
    };
  }

  async #finish(claim: PersistentVolumeClaim, volume: PersistentVolume, target: string): Promise<void> {
    // A volume that was made with its class was never modified.
    const asked = claim.status?.modifyVolumeStatus !== undefined;
    await this.#status(claim, { current: target });
    this.forget(claim.metadata.uid ?? "");
    const message = `volume ${volume.metadata.name} has the attributes of ${target}`;
    if (asked) this.#event(claim, "Normal", "VolumeModifySuccessful", message);
  }

  async #failed(
    claim: PersistentVolumeClaim,
    progress: NonNullable<ModifyStatusChange["progress"]>,
    message: string,
  ): Promise<void> {
    this.#event(claim, "Warning", "VolumeModifyFailed", message);
    const change: ModifyStatusChange = { progress, condition: { type: "ModifyVolumeError", message } };
    if (!isReported(claim, change)) await this.#status(claim, change);
  }

  async #status(claim: PersistentVolumeClaim, change: ModifyStatusChange): Promise<void> {
    const { store, cluster, now } = this.#context;
    await patchStatus(store, cluster.claims, claim, modifyStatus(claim, change, rfc3339(now())));
  }

  #event(claim: PersistentVolumeClaim, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#context.events.event(claim, type, reason, message);
  }
}
