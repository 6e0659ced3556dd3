import {
  defined,
  failpoint,
  formatQuantity,
  type PersistentVolume,
  type PersistentVolumeClaim,
} from "@mooring/store";
import { Backoff } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { NODE_EXPANSION_NOT_REQUIRED, PRE_RESIZE_CAPACITY } from "../common/names.ts";
import { rfc3339 } from "../common/time.ts";
import { toWire } from "../csi/capability.ts";
import { callFailure, isExpandInfeasible, isUncertain, minBackoff } from "../csi/codes.ts";
import { objectKey, patchMetadata } from "../kube/patch.ts";
import { readSecret } from "../secrets/read.ts";
import {
  type ExpandArguments,
  type ResizeResult,
  type ResizeStep,
  type ResizeView,
  resizeRequestKey,
} from "./decide.ts";
import { type ResizeStatusChange, resizeStatus } from "./status.ts";

/** Passed when the driver has expanded the volume: a call that it refuses ends the same step, and does not come here. */
const expanded = failpoint("sidecars/resize/expanded");

/** Carries out steps, and remembers what the driver returned. Both maps are by the claim's UID. */
export class ResizeEffects {
  readonly results = new Map<string, ResizeResult>();
  readonly backoff: Backoff;
  readonly #context: SidecarContext;
  readonly #signal: AbortSignal;

  constructor(context: SidecarContext, signal: AbortSignal) {
    this.#context = context;
    this.#signal = signal;
    this.backoff = Backoff.of(context);
  }

  /** Forgets a claim that is gone. */
  forget(uid: string): void {
    this.results.delete(uid);
    this.backoff.reset(uid);
  }

  /** Makes the one change of a step, or the one call of the driver. */
  async apply(step: ResizeStep, view: ResizeView): Promise<void> {
    const { claim, volume } = view;
    if (claim === undefined || volume === undefined) return;
    const uid = claim.metadata.uid ?? "";
    const { store, cluster } = this.#context;
    switch (step.do) {
      case "announce":
        return this.#announce(claim, volume, step.target);
      case "expand":
        return this.#expand(view, claim, step, uid);
      case "assume-expanded":
        return void this.results.set(uid, {
          kind: "expanded",
          target: step.target,
          bytes: step.target,
          nodeExpansion: true,
        });
      case "write-volume":
        return this.#writeVolume(volume, step.bytes, step.nodeExpansion, uid);
      case "hand-to-node":
        return this.#handToNode(claim, step.allocated);
      case "finish":
        await this.#status(claim, { capacity: step.bytes }, true);
        this.#event(claim, "Normal", "VolumeResizeSuccessful", "Resize volume succeeded");
        return;
      case "forget-pre-resize":
        await patchMetadata(store, cluster.volumes, volume, { annotations: { [PRE_RESIZE_CAPACITY]: null } });
        return;
      case "withdraw":
        return this.#status(claim, { allocated: step.allocated });
      case "report":
        this.backoff.fail(uid, resizeRequestKey(view));
        return this.#event(claim, "Warning", "VolumeResizeFailed", step.message);
    }
  }

  async #announce(claim: PersistentVolumeClaim, volume: PersistentVolume, target: bigint): Promise<void> {
    const change: ResizeStatusChange = {
      condition: { type: "Resizing", message: "" },
      status: "ControllerResizeInProgress",
      allocated: target,
    };
    await this.#status(claim, change, false);
    const message = `External resizer is resizing volume ${volume.metadata.name}`;
    this.#event(claim, "Normal", "Resizing", message);
  }

  async #handToNode(claim: PersistentVolumeClaim, allocated: bigint | undefined): Promise<void> {
    const change: ResizeStatusChange = {
      condition: {
        type: "FileSystemResizePending",
        message: "Waiting for user to (re-)start a pod to finish file system resize of volume on node.",
      },
      status: "NodeResizePending",
      ...defined({ allocated }),
    };
    await this.#status(claim, change, false);
    const message = "Require file system resize of volume on node";
    this.#event(claim, "Normal", "FileSystemResizeRequired", message);
  }

  async #expand(
    view: ResizeView,
    claim: PersistentVolumeClaim,
    { target, arguments: wanted }: { target: bigint; arguments: ExpandArguments },
    uid: string,
  ): Promise<void> {
    const { driver, store, timeoutMs } = this.#context;
    try {
      const { capacityBytes, nodeExpansionRequired } = await driver.client.controller.controllerExpandVolume(
        {
          volumeId: wanted.handle,
          capacityRange: { requiredBytes: wanted.bytes },
          volumeCapability: toWire(wanted.capability),
          secrets: await readSecret(store, wanted.secret),
        },
        { signal: this.#signal, timeoutMs },
      );
      expanded();
      const bytes = capacityBytes > target ? capacityBytes : target;
      this.results.set(uid, { kind: "expanded", target, bytes, nodeExpansion: nodeExpansionRequired });
      this.backoff.reset(uid);
    } catch (error) {
      if (this.#signal.aborted) throw error;
      await this.#failed(view, claim, { target, error }, uid);
    }
  }

  /** What the driver has refused for certain is written down; an uncertain expansion stays "in progress". */
  async #failed(
    view: ResizeView,
    claim: PersistentVolumeClaim,
    { target, error }: { target: bigint; error: unknown },
    uid: string,
  ): Promise<void> {
    const { logger, retry } = this.#context;
    const failure = callFailure(error);
    const infeasible = isExpandInfeasible(failure);
    this.backoff.fail(
      uid,
      resizeRequestKey(view),
      minBackoff(failure, retry.infeasibleMs, isExpandInfeasible),
    );
    const { name, namespace } = claim.metadata;
    logger.warn(
      { claim: `${namespace}/${name}`, code: failure.code, error: failure.message },
      "expansion failed",
    );
    this.#event(claim, "Warning", "VolumeResizeFailed", failure.message);
    if (isUncertain(failure)) return;
    this.results.set(uid, { kind: "refused", target });
    await this.#status(claim, {
      condition: { type: "ControllerResizeError", message: failure.message },
      status: infeasible ? "ControllerResizeInfeasible" : "ControllerResizeInProgress",
    });
  }

  /** One write for both facts: that the volume is larger, and that a node still has to do its part. */
  async #writeVolume(
    volume: PersistentVolume,
    bytes: bigint,
    nodeExpansion: boolean,
    uid: string,
  ): Promise<void> {
    const { store, cluster } = this.#context;
    const before = volume.spec?.capacity?.storage ?? "0";
    const { resourceVersion, uid: of } = volume.metadata;
    const annotations = nodeExpansion ? { [PRE_RESIZE_CAPACITY]: before } : {};
    const body = {
      metadata: { uid: of, resourceVersion, annotations },
      spec: { capacity: { storage: formatQuantity(bytes) } },
    };
    const { resource } = cluster.volumes;
    cluster.volumes.wrote(await store.patch(resource, objectKey(volume), { type: "merge", body }));
    this.results.delete(uid);
  }

  /** `nodeIsDone`: no kubelet has a part in it. One that does not know would expand a volume of many nodes on each of them. */
  async #status(
    claim: PersistentVolumeClaim,
    change: ResizeStatusChange,
    nodeIsDone?: boolean,
  ): Promise<void> {
    const { store, cluster, now } = this.#context;
    const annotations =
      nodeIsDone === undefined ? {} : { [NODE_EXPANSION_NOT_REQUIRED]: nodeIsDone ? "true" : null };
    const { uid, resourceVersion } = claim.metadata;
    const status = resizeStatus(claim, change, rfc3339(now()));
    const body = { metadata: { uid, resourceVersion, annotations }, status };
    const { resource } = cluster.claims;
    const options = { subresource: "status" };
    cluster.claims.wrote(await store.patch(resource, objectKey(claim), { type: "merge", body }, options));
  }

  #event(claim: PersistentVolumeClaim, type: "Normal" | "Warning", reason: string, message: string): void {
    this.#context.events.event(claim, type, reason, message);
  }
}
