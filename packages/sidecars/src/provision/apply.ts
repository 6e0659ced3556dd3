import {
  DONE,
  failpoint,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  keyOf,
  type PersistentVolumeClaim,
  PersistentVolumes,
} from "@mooring/store";
import { Backoff, type RequestKey } from "../common/backoff.ts";
import type { SidecarContext } from "../common/context.ts";
import type { Applied } from "../common/controller.ts";
import type { Intent, SourceRef } from "../common/create-volume/intent.ts";
import { CLONE_SOURCE_FINALIZER, SELECTED_NODE, SNAPSHOT_SOURCE_FINALIZER } from "../common/names.ts";
import { Uncertainty } from "../common/uncertainty.ts";
import { labelsOfClaim, provisioned } from "../common/volume-metrics.ts";
import {
  callFailure,
  isCreateVolumeUncertain,
  isInfeasible,
  isNotImplemented,
  minBackoff,
} from "../csi/codes.ts";
import type { ObjectCache } from "../kube/cache.ts";
import { patchMetadata } from "../kube/patch.ts";
import { readSecret, readSecretIfAny, SecretMissing } from "../secrets/read.ts";
import { createVolume } from "./calls.ts";
import type { CallResult, ProvisionStep, ProvisionView } from "./decide.ts";
import { Journal } from "./journal.ts";
import { persistentVolumeFor } from "./persistent-volume.ts";

/** Failpoints where the driver has done its call: one that it refuses ends the same step. */
const failpoints = {
  volumeCreated: failpoint("sidecars/provision/volume-created"),
  volumeRemoved: failpoint("sidecars/provision/volume-removed"),
};

/** A driver that has not responded by then is slow, and users ask what their claim waits for. */
const SLOW_MS = 1_000;

/** Age of a claim, in milliseconds, up to which a data source that is not there yet is no failure. */
const SOURCE_COMES_MS = 60_000;

/** Makes the changes that {@link decideProvision} asks for, and remembers what the driver returned. */
export class ProvisionEffects {
  readonly results = new Map<string, CallResult>();
  readonly backoff: Backoff;
  readonly uncertainty = new Uncertainty();
  /** When attempts began, by the claim's UID. */
  readonly #begun = new Map<string, number>();
  readonly journal: Journal;
  readonly #context: SidecarContext;
  readonly #identity: string;

  constructor(context: SidecarContext, identity: string) {
    this.#context = context;
    this.#identity = identity;
    this.journal = new Journal(context);
    this.backoff = Backoff.of(context);
  }

  /** DONE: the claim has its volume, and nothing follows before one of the two changes. */
  async apply(
    step: ProvisionStep,
    view: ProvisionView,
    uid: string,
    requestKey: RequestKey,
  ): Promise<Applied> {
    switch (step.do) {
      case "announce-populator":
        this.#announcePopulator(step, view);
        return void this.backoff.fail(uid, requestKey, this.#context.retry.infeasibleMs);
      case "report":
        if (step.pending === true && this.#isYoung(view.claim))
          this.#event(view.claim, "Normal", "WaitForDataSource", `waiting: ${step.error}`);
        else this.#failed(view.claim, step.error);
        return void this.backoff.fail(uid, requestKey);
      case "reschedule":
        return this.#reschedule(view, step.error);
      case "protect-source":
        return this.#protect(step.source);
      case "save-intent":
        return this.#open(step.intent, view, uid, requestKey);
      case "create-volume":
        return this.#create(step.intent, step.wanted, view, { uid, requestKey });
      case "delete-volume":
        return this.#remove(step.intent, { handle: step.handle, error: step.error }, view, {
          uid,
          requestKey,
        });
      case "create-pv":
        return this.#createPv(step, uid);
      case "delete-intent":
        return this.#close(step.intent, step.outcome, view, uid);
    }
  }

  #announcePopulator(
    { what, unpopulated }: Extract<ProvisionStep, { do: "announce-populator" }>,
    { claim }: ProvisionView,
  ): void {
    const message = "Assuming an external populator will provision the volume";
    this.#event(claim, "Normal", "Provisioning", message);
    if (unpopulated !== true) return;
    const unmatched = "The datasource for this PVC does not match any registered VolumePopulator";
    const next = `install what fills volumes from ${what}, with its VolumePopulator`;
    this.#event(claim, "Warning", "UnrecognizedDataSourceKind", `${unmatched}: ${next}`);
  }

  /** It may have come before what it is made from, in the same `kubectl apply`. */
  #isYoung(claim: PersistentVolumeClaim | undefined): boolean {
    const madeAt = Date.parse(claim?.metadata.creationTimestamp ?? "");
    return this.#context.now() - madeAt < SOURCE_COMES_MS;
  }

  /** Without the annotation the scheduler chooses again, and not this node for the same reason. */
  async #reschedule({ claim }: ProvisionView, error: string): Promise<void> {
    if (claim === undefined) return;
    const { store, cluster } = this.#context;
    await patchMetadata(store, cluster.claims, claim, { annotations: { [SELECTED_NODE]: null } });
    this.#failed(claim, `${error}; another node will be chosen`);
  }

  /** A source under deletion takes no finalizer any more: the server refuses, and the plan is made again. */
  async #protect(source: SourceRef): Promise<void> {
    const { cluster } = this.#context;
    if (source.kind === "VolumeSnapshot")
      await this.#addFinalizer(cluster.snapshots, source, SNAPSHOT_SOURCE_FINALIZER);
    else await this.#addFinalizer(cluster.claims, source, CLONE_SOURCE_FINALIZER);
  }

  async #addFinalizer<T extends KubeObject>(
    cache: ObjectCache<T>,
    source: SourceRef,
    name: string,
  ): Promise<void> {
    const object = cache.get(keyOf({ metadata: source }));
    if (object?.metadata.uid !== source.uid) return;
    await patchMetadata(this.#context.store, cache, object, { addFinalizers: [name] });
  }

  /** From here on the volume may exist. A secret that cannot be read is found out before that. */
  async #open(intent: Intent, { claim }: ProvisionView, uid: string, requestKey: RequestKey): Promise<void> {
    try {
      await readSecret(this.#context.store, intent.secret);
      this.#begun.set(uid, performance.now());
      await this.journal.record(intent);
    } catch (error) {
      // Nothing else than the namespace of the records can be missing from a create.
      if (!(error instanceof SecretMissing) && !isNotFound(error)) throw error;
      this.#failed(claim, error.message);
      this.backoff.fail(uid, requestKey);
    }
  }

  async #create(
    intent: Intent,
    wanted: boolean,
    view: ProvisionView,
    { uid, requestKey }: { uid: string; requestKey: RequestKey },
  ): Promise<void> {
    const { driver, retry, logger } = this.#context;
    const stopAnnouncing = this.#announceIfSlow(intent, view);
    try {
      const read = wanted ? readSecret : readSecretIfAny;
      const secrets = await read(this.#context.store, intent.secret);
      const volume = await createVolume(driver.client, intent.arguments, secrets, this.#call);
      failpoints.volumeCreated();
      this.backoff.reset(uid);
      this.results.set(uid, { kind: "created", volume });
    } catch (error) {
      if (this.#context.cluster.signal.aborted) throw error;
      const failure = callFailure(error);
      this.results.set(uid, { kind: "failed", failure });
      const infeasible = isInfeasible(failure);
      this.backoff.fail(uid, requestKey, minBackoff(failure, retry.infeasibleMs));
      const uncertain = isCreateVolumeUncertain(failure);
      if (uncertain) this.uncertainty.note(uid);
      logger.warn(
        { claim: intent.claim, code: failure.code, uncertain, error: failure.message },
        "CreateVolume failed",
      );
      this.#failed(view.claim, failure.message);
      if (infeasible)
        this.#event(
          view.claim,
          "Warning",
          "ProvisioningFailed",
          isNotImplemented(failure)
            ? "The driver does not implement the call, which is not repeated until the claim or its class changes."
            : "Volume provisioning failed with infeasible error. Retries will be delayed.",
        );
    } finally {
      stopAnnouncing();
    }
  }

  /** A claim that gets its volume at once needs no event that says that it will. */
  #announceIfSlow({ claim: { namespace, name } }: Intent, { claim, result }: ProvisionView): () => void {
    const message = `External provisioner is provisioning volume for claim "${namespace}/${name}"`;
    const announce = () => this.#event(claim, "Normal", "Provisioning", message);
    // A failure has been reported already.
    const timer = result === undefined ? setTimeout(announce, SLOW_MS).unref() : undefined;
    return () => clearTimeout(timer);
  }

  async #remove(
    intent: Intent,
    { handle, error }: { handle: string; error: string | undefined },
    view: ProvisionView,
    { uid, requestKey }: { uid: string; requestKey: RequestKey },
  ): Promise<void> {
    const { driver, store } = this.#context;
    try {
      const secrets = await readSecretIfAny(store, intent.secret);
      await driver.client.controller.deleteVolume({ volumeId: handle, secrets }, this.#call);
      failpoints.volumeRemoved();
    } catch (cause) {
      if (this.#context.cluster.signal.aborted) throw cause;
      const failure = callFailure(cause);
      const { code, message } = failure;
      this.#context.logger.warn({ claim: intent.claim, handle, code, error: message }, "DeleteVolume failed");
      return void this.backoff.fail(uid, requestKey, minBackoff(failure, 0));
    }
    if (error === undefined) this.backoff.reset(uid);
    else {
      this.#failed(view.claim, error);
      this.backoff.fail(uid, requestKey);
    }
    this.results.set(uid, error === undefined ? { kind: "removed" } : { kind: "removed", error });
  }

  async #createPv(
    { intent, volume }: Extract<ProvisionStep, { do: "create-pv" }>,
    uid: string,
  ): Promise<void> {
    const { store, attaches, cluster, logger } = this.#context;
    const object = persistentVolumeFor(intent, volume, { identity: this.#identity, attaches });
    try {
      cluster.volumes.wrote(await store.create(PersistentVolumes, object));
    } catch (error) {
      if (!isAlreadyExists(error)) throw error;
      // Whose it is decides whether ours is to be removed: the next read compares the handles.
      await cluster.volumes.refresh(intent.arguments.name);
      return;
    }
    logger.info({ claim: intent.claim, volume: intent.arguments.name, uid }, "provisioned a volume");
  }

  #close(
    intent: Intent,
    outcome: "provisioned" | "failed" | "removed",
    { claim }: ProvisionView,
    uid: string,
  ): typeof DONE | undefined {
    this.journal.settle(uid);
    this.results.delete(uid);
    this.uncertainty.settle(uid);
    const begun = this.#begun.get(uid);
    this.#begun.delete(uid);
    if (outcome !== "provisioned") return undefined;
    if (claim !== undefined)
      provisioned.done(labelsOfClaim(claim), begun && (performance.now() - begun) / 1000);
    this.backoff.reset(uid);
    const message = `Successfully provisioned volume ${intent.arguments.name}`;
    this.#event(claim, "Normal", "ProvisioningSucceeded", message);
    return DONE;
  }

  /** One attempt has come to nothing. */
  #failed(claim: PersistentVolumeClaim | undefined, message: string): void {
    if (claim !== undefined) provisioned.failed(labelsOfClaim(claim));
    this.#event(claim, "Warning", "ProvisioningFailed", message);
  }

  get #call() {
    const { cluster, timeoutMs } = this.#context;
    return { signal: cluster.signal, timeoutMs };
  }

  #event(
    claim: PersistentVolumeClaim | undefined,
    type: "Normal" | "Warning",
    reason: string,
    message: string,
  ) {
    if (claim !== undefined) this.#context.events.event(claim, type, reason, message);
  }
}
