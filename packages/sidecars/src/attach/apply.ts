import {
  defined,
  failpoint,
  isDeleting,
  type KubeVolumeAttachment,
  type PersistentVolume,
} from "@mooring/store";
import { Backoff, type RequestKey } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import { attacherFinalizer, PUBLISHED_VOLUME } from "../common/names.ts";
import { rfc3339 } from "../common/time.ts";
import { toWire } from "../csi/capability.ts";
import { callFailure, minBackoff } from "../csi/codes.ts";
import { patchMetadata, patchStatus } from "../kube/patch.ts";
import { readSecret, readSecretIfAny } from "../secrets/read.ts";
import type { AttachResult, AttachStep, AttachView, PublishArguments } from "./decide.ts";
import { attachmentProtection, type Published } from "./protection.ts";

/**
 * Failpoints between the two halves of one step, and where the driver has done its call: one that it refuses ends the same
 * step.
 */
const failpoints = {
  volumeProtected: failpoint("sidecars/attach/volume-protected"),
  attachmentProtected: failpoint("sidecars/attach/attachment-protected"),
  published: failpoint("sidecars/attach/published"),
  unpublished: failpoint("sidecars/attach/unpublished"),
};

/** Makes the changes that {@link decideAttach} asks for, and remembers what the driver returned, by UID. */
export class AttachEffects {
  readonly results = new Map<string, AttachResult>();
  readonly backoff: Backoff;
  /** Attachments about which the driver was seen to disagree. */
  readonly verify = new Set<string>();
  /** Has an attachment read again; set by who runs the queue. */
  wake: (name: string) => void = () => {};
  readonly #context: SidecarContext;
  readonly #finalizer: string;

  constructor(context: SidecarContext) {
    this.#context = context;
    this.#finalizer = attacherFinalizer(context.driver.info.name);
    this.backoff = Backoff.of(context);
  }

  forget(uid: string): void {
    this.results.delete(uid);
    this.verify.delete(uid);
    this.backoff.reset(uid);
  }

  async apply(step: AttachStep, { attachment }: AttachView, requestKey: RequestKey): Promise<void> {
    if (attachment === undefined) return;
    const uid = attachment.metadata.uid ?? "";
    switch (step.do) {
      case "protect":
        return this.#protect(attachment, step);
      case "publish":
        return this.#publish(attachment, step.arguments, uid, requestKey);
      case "mark-attached":
        return this.#markAttached(attachment, step.context, uid);
      case "unpublish":
        return this.#unpublish(attachment, step.published, uid, requestKey);
      case "release-attachment":
        return this.#release(attachment, uid);
      case "mark-detached":
        return this.#status(attachment, { attached: false, detachError: null });
      case "report":
        return this.#report(attachment, step, uid, requestKey);
    }
  }

  /** Two objects, written side by side: both are on disk before the driver is asked. */
  async #protect(
    attachment: KubeVolumeAttachment,
    { volume, published }: Extract<AttachStep, { do: "protect" }>,
  ): Promise<void> {
    const writes = [
      ...(volume === undefined ? [] : [this.#protectVolume(volume)]),
      ...(published === undefined ? [] : [this.#protectAttachment(attachment, published)]),
    ];
    await Promise.all(writes).finally(() => Promise.allSettled(writes));
  }

  async #protectVolume(volume: PersistentVolume): Promise<void> {
    const { store, cluster } = this.#context;
    await patchMetadata(store, cluster.volumes, volume, { addFinalizers: [this.#finalizer] });
    failpoints.volumeProtected();
  }

  /** From here on the volume may be attached, so the attachment cannot go without a detach call. */
  async #protectAttachment(attachment: KubeVolumeAttachment, published: Published): Promise<void> {
    const { store, cluster, driver } = this.#context;
    const { finalizers, annotations } = attachmentProtection(driver.info.name, published);
    await patchMetadata(store, cluster.attachments, attachment, { addFinalizers: finalizers, annotations });
    failpoints.attachmentProtected();
  }

  async #publish(
    attachment: KubeVolumeAttachment,
    { attributes, capability, handle, nodeId, readonly, secret }: PublishArguments,
    uid: string,
    requestKey: RequestKey,
  ): Promise<void> {
    const { cluster, driver, store, timeoutMs } = this.#context;
    try {
      const { publishContext } = await driver.client.controller.controllerPublishVolume(
        {
          volumeId: handle,
          nodeId,
          readonly,
          volumeContext: attributes,
          volumeCapability: toWire(capability),
          secrets: await readSecret(store, secret),
        },
        { signal: cluster.signal, timeoutMs },
      );
      failpoints.published();
      this.results.set(uid, { kind: "published", context: { ...publishContext } });
      this.backoff.reset(uid);
    } catch (error) {
      if (cluster.signal.aborted) throw error;
      const { code, message } = callFailure(error);
      const failure = { message, ...defined({ code }) };
      await this.#report(attachment, { phase: "attach", ...failure }, uid, requestKey);
    }
  }

  async #markAttached(
    attachment: KubeVolumeAttachment,
    context: Record<string, string>,
    uid: string,
  ): Promise<void> {
    const before = Object.keys(attachment.status?.attachmentMetadata ?? {});
    const dropped = before.filter((key) => !Object.hasOwn(context, key)).map((key) => [key, null]);
    const attachmentMetadata = { ...Object.fromEntries(dropped), ...context };
    await this.#status(attachment, { attached: true, attachmentMetadata, attachError: null });
    this.forget(uid);
  }

  async #unpublish(
    attachment: KubeVolumeAttachment,
    { handle, nodeId, secret }: Published,
    uid: string,
    requestKey: RequestKey,
  ): Promise<void> {
    const { cluster, driver, store, timeoutMs } = this.#context;
    try {
      await driver.client.controller.controllerUnpublishVolume(
        { volumeId: handle, nodeId, secrets: await readSecretIfAny(store, secret) },
        { signal: cluster.signal, timeoutMs },
      );
      failpoints.unpublished();
      this.results.set(uid, { kind: "unpublished" });
      this.backoff.reset(uid);
    } catch (error) {
      if (cluster.signal.aborted) throw error;
      const { code, message } = callFailure(error);
      const failure = { message, ...defined({ code }) };
      await this.#report(attachment, { phase: "detach", ...failure }, uid, requestKey);
    }
  }

  /** Usually the object is gone with that. When others keep it, the status still has to become "detached". */
  async #release(attachment: KubeVolumeAttachment, uid: string): Promise<void> {
    const { store, cluster } = this.#context;
    const annotations = { [PUBLISHED_VOLUME]: null };
    await patchMetadata(store, cluster.attachments, attachment, {
      removeFinalizers: [this.#finalizer],
      annotations,
    });
    if (cluster.attachments.get(attachment.metadata.name) === undefined) this.forget(uid);
  }

  /** The status is written once per error, not once per attempt. */
  async #report(
    attachment: KubeVolumeAttachment,
    { phase, message, code }: { phase: "attach" | "detach"; message: string; code?: number },
    uid: string,
    requestKey: RequestKey,
  ): Promise<void> {
    const { events, logger, now, retry } = this.#context;
    const failure = { message, ...defined({ code }) };
    this.backoff.fail(uid, requestKey, minBackoff(failure, retry.infeasibleMs));
    const { name } = attachment.metadata;
    logger.warn({ attachment: name, code, error: message }, `${phase} failed`);
    const reason = phase === "attach" ? "FailedAttachVolume" : "FailedDetachVolume";
    events.event(attachment, "Warning", reason, message);
    const field = phase === "attach" ? "attachError" : "detachError";
    const known: { message?: string; errorCode?: number } | undefined = attachment.status?.[field];
    if (known?.message === message && known.errorCode === code) return;
    const error = { time: rfc3339(now()), message, errorCode: code ?? null };
    const attached = isDeleting(attachment) && attachment.status?.attached === true;
    await this.#status(attachment, { attached, [field]: error });
  }

  async #status(attachment: KubeVolumeAttachment, status: object): Promise<void> {
    const { store, cluster } = this.#context;
    await patchStatus(store, cluster.attachments, attachment, status);
  }
}
