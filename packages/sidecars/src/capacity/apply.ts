import {
  CSIStorageCapacities,
  formatQuantity,
  getIfAny,
  isForbidden,
  Nodes,
  type OwnerReference,
  ownerReferenceTo,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { slotKey } from "../kube/capacity-slot.ts";
import { deleteObject, objectKey } from "../kube/patch.ts";
import { driverParameters } from "../provision/parameters.ts";
import { type Amount, type CapacityStep, type CapacityView, capacityFor } from "./decide.ts";
import type { CapacityResults } from "./results.ts";

/** Asks the driver, and writes what it reports. */
export class CapacityEffects {
  readonly #context: SidecarContext;
  readonly #results: CapacityResults;
  readonly #signal: AbortSignal;
  /** Calls in a row to which the driver has not responded, whatever they were about. */
  #silent = 0;

  constructor(context: SidecarContext, results: CapacityResults, signal: AbortSignal) {
    this.#context = context;
    this.#results = results;
    this.#signal = signal;
  }

  async apply(step: CapacityStep, view: CapacityView): Promise<void> {
    const { store, cluster } = this.#context;
    switch (step.do) {
      case "delete-duplicates":
        for (const object of step.objects) await deleteObject(store, cluster.capacities, object);
        return;
      case "delete-capacity":
        this.#results.forget(slotKey(view.slot));
        await deleteObject(store, cluster.capacities, step.object);
        return;
      case "ask-driver":
        return this.#ask(view);
      case "publish":
        await this.#publish(view, step.amount);
        return;
    }
  }

  /** What was published stays where there is no response: it is the best that is known. The next poll asks again. */
  async #ask({ slot, parameters, now }: CapacityView): Promise<void> {
    const { logger } = this.#context;
    const key = slotKey(slot);
    this.#results.asked(slot, now, parameters);
    try {
      this.#results.received(key, await this.#amountOf(slot, parameters));
      if (this.#silent > 0) logger.info({}, "the driver reports its capacity again");
      this.#silent = 0;
    } catch (error) {
      this.#signal.throwIfAborted();
      this.#silent += 1;
      const why = error instanceof Error ? error.message : String(error);
      if (this.#silent === 1)
        logger.warn({ why }, "the driver does not report its capacity; what is published may be old");
    }
  }

  async #amountOf({ segments }: CapacityView["slot"], given: Record<string, string>): Promise<Amount> {
    const { driver, timeoutMs } = this.#context;
    const stripped = driverParameters(given);
    const { availableCapacity, maximumVolumeSize } = await driver.client.controller.getCapacity(
      {
        parameters: "error" in stripped ? {} : stripped.parameters,
        ...(driver.info.topology ? { accessibleTopology: { segments: { ...segments } } } : {}),
      },
      { signal: this.#signal, timeoutMs },
    );
    return {
      capacity: formatQuantity(availableCapacity),
      ...(maximumVolumeSize === undefined ? {} : { maximumVolumeSize: formatQuantity(maximumVolumeSize) }),
    };
  }

  /** With the node its capacities go, also when no process is there any more to take them away. */
  async #nodeOwner(name: string): Promise<OwnerReference | undefined> {
    try {
      const node = await getIfAny(this.#context.store, Nodes, { name });
      return node === undefined
        ? undefined
        : ownerReferenceTo(node, { controller: false, blockOwnerDeletion: false });
    } catch (error) {
      // A provisioner on a node need not be able to read nodes.
      if (isForbidden(error)) return undefined;
      throw error;
    }
  }

  async #publish({ slot, published }: CapacityView, amount: Amount): Promise<void> {
    const { store, cluster, driver, here, namespace } = this.#context;
    if (published === undefined) {
      const owner = here === undefined ? undefined : await this.#nodeOwner(here.node);
      const wanted = capacityFor({ driver: driver.info.name, namespace, here, owner }, slot, amount);
      cluster.capacities.wrote(await store.create(CSIStorageCapacities, wanted));
      return;
    }
    const { capacity, maximumVolumeSize = null } = amount;
    const patch = { type: "merge" as const, body: { capacity, maximumVolumeSize } };
    cluster.capacities.wrote(await store.patch(CSIStorageCapacities, objectKey(published), patch));
  }
}
