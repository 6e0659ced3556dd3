import { describeBytes, isConflict, type PersistentVolumeClaim } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import type { Here } from "../common/here.ts";
import { SELECTED_NODE } from "../common/names.ts";
import { callFailure } from "../csi/codes.ts";
import { patchMetadata } from "../kube/patch.ts";
import type { Attempts } from "./attempts.ts";
import type { CapacityRequest, OwnershipStep } from "./decide.ts";

/** Asks the driver for room, and writes the node's name on claims. */
export class OwnershipEffects {
  readonly #context: SidecarContext;
  readonly #here: Here;
  readonly #attempts: Attempts;
  readonly #signal: AbortSignal;

  constructor(context: SidecarContext, here: Here, attempts: Attempts, signal: AbortSignal) {
    this.#context = context;
    this.#here = here;
    this.#attempts = attempts;
    this.#signal = signal;
  }

  async apply(step: OwnershipStep, claim: PersistentVolumeClaim): Promise<void> {
    const uid = claim.metadata.uid ?? "";
    if (step.do === "select-node") return this.#select(claim, uid);
    if (await this.#hasRoom(step.request)) return this.#attempts.recordRoom(uid, true);
    // Who is the only one without room need not say so: another node has taken the claim by then.
    if (this.#attempts.fail(uid) > 1) this.#reportFull(claim, step.request);
  }

  async #hasRoom({ bytes, parameters, places }: CapacityRequest): Promise<boolean> {
    const { driver, logger, timeoutMs } = this.#context;
    try {
      for (const segments of places) {
        const { availableCapacity } = await driver.client.controller.getCapacity(
          { parameters, accessibleTopology: { segments: { ...segments } } },
          { signal: this.#signal, timeoutMs },
        );
        if (availableCapacity >= bytes) return true;
      }
      return false;
    } catch (error) {
      this.#signal.throwIfAborted();
      // CreateVolume finds out whether there is room, and its failure is reported to the user.
      logger.warn({ error: callFailure(error).message }, "the driver does not report its capacity");
      return true;
    }
  }

  #reportFull(claim: PersistentVolumeClaim, { bytes }: CapacityRequest): void {
    const message = `node ${this.#here.node} has no room for ${describeBytes(bytes)}, and no other node has taken the claim`;
    this.#context.events.event(claim, "Warning", "ProvisioningFailed", message);
  }

  /** Only one of those that have seen the claim without a node can write its name. */
  async #select(claim: PersistentVolumeClaim, uid: string): Promise<void> {
    const { cluster, logger, store } = this.#context;
    try {
      const annotations = { [SELECTED_NODE]: this.#here.node };
      await patchMetadata(store, cluster.claims, claim, { annotations, checkVersion: true });
    } catch (error) {
      if (isConflict(error)) this.#attempts.fail(uid);
      throw error;
    }
    this.#attempts.forget(uid);
    logger.info({ claim: claim.metadata.name, namespace: claim.metadata.namespace }, "took a claim");
  }
}
