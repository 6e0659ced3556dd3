import {
  CSIStorageCapacities,
  failpoint,
  formatQuantity,
  type PersistentVolume,
  runController,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { source } from "../common/source.ts";
import { deleteObject, objectKey } from "../kube/patch.ts";
import { driverParameters } from "../provision/parameters.ts";
import {
  type Amount,
  capacityFor,
  capacityName,
  isPublished,
  parseSlotKey,
  placesOf,
  type Slot,
  slotKey,
  slotOf,
} from "./decide.ts";

export interface CapacityOptions {
  /** Milliseconds between questions to the driver; default 60,000. */
  pollMs: number;
  /** Also for classes with immediate binding. */
  immediateBinding: boolean;
}

const gaps = {
  written: failpoint("sidecars/capacity/written"),
  deleted: failpoint("sidecars/capacity/deleted"),
};

/** Volumes come in bursts: a place is asked about at most this often, in milliseconds. */
const AT_MOST_EVERY_MS = 1_000;

/** Publishes how much each class can still get in each place, for the scheduler. */
export function runCapacity(
  context: SidecarContext,
  given: Partial<CapacityOptions>,
  signal: AbortSignal,
): Promise<void> {
  const options = { pollMs: 60_000, immediateBinding: false, ...given };
  const publisher = new CapacityPublisher(context, options, signal);
  const { cluster, driver, logger } = context;
  const ofClass = (className: string) =>
    publisher.places().map((segments) => slotKey({ className, segments }));
  const everything = () => cluster.classes.list().flatMap(({ metadata }) => ofClass(metadata.name));
  return runController(
    {
      name: "capacity",
      logger,
      concurrency: 2,
      sources: [
        source(cluster.classes, ({ metadata }) => ofClass(metadata.name)),
        source(cluster.capacities, (object) => [slotKey(slotOf(object))]),
        source(cluster.volumes, (volume) => (isOf(volume, driver.info.name) ? everything() : [])),
        ...(driver.info.topology
          ? [
              source(cluster.csiNodes, () => [...everything(), ...publisher.published()]),
              source(cluster.nodes, ({ metadata }) =>
                publisher.isNewPlace(metadata.name) ? everything() : [],
              ),
            ]
          : []),
      ],
      reconcile: (key) => publisher.reconcile(parseSlotKey(key)),
    },
    signal,
  );
}

const isOf = ({ spec }: PersistentVolume, driver: string): boolean => spec?.csi?.driver === driver;

class CapacityPublisher {
  readonly #context: SidecarContext;
  readonly #options: CapacityOptions;
  readonly #signal: AbortSignal;
  readonly #askedAt = new Map<string, number>();
  readonly #labelsOfNode = new Map<string, string>();
  /** Questions in a row that the driver has not answered, whatever they were about. */
  #silent = 0;

  constructor(context: SidecarContext, options: CapacityOptions, signal: AbortSignal) {
    this.#context = context;
    this.#options = options;
    this.#signal = signal;
  }

  places() {
    const { cluster, driver } = this.#context;
    if (!driver.info.topology) return placesOf(driver.info, [], []);
    return placesOf(driver.info, cluster.csiNodes.list(), cluster.nodes.list());
  }

  published(): string[] {
    return this.#context.cluster.capacities.list().map((object) => slotKey(slotOf(object)));
  }

  /** Nodes change with every heartbeat; only their labels matter here. */
  isNewPlace(nodeName: string): boolean {
    const labels = JSON.stringify(this.#context.cluster.nodes.get(nodeName)?.metadata.labels ?? null);
    if (this.#labelsOfNode.get(nodeName) === labels) return false;
    this.#labelsOfNode.set(nodeName, labels);
    return true;
  }

  async reconcile(slot: Slot): Promise<{ requeueAfterMs: number } | undefined> {
    const { cluster, driver, now } = this.#context;
    const key = slotKey(slot);
    await this.#removeStrangers(slot, key);
    const storageClass = cluster.classes.get(slot.className);
    const wanted =
      storageClass !== undefined &&
      isPublished(storageClass, driver.info.name, this.#options.immediateBinding) &&
      this.places().some((segments) => slotKey({ ...slot, segments }) === key);
    if (!wanted) return void (await this.#remove(slot, key));
    const since = now() - (this.#askedAt.get(key) ?? Number.NEGATIVE_INFINITY);
    const least = Math.min(AT_MOST_EVERY_MS, this.#options.pollMs);
    if (since < least) return { requeueAfterMs: least - since };
    this.#askedAt.set(key, now());
    const amount = await this.#ask(slot, storageClass.parameters ?? {}).catch((error) =>
      this.#unanswered(error),
    );
    if (amount !== undefined) await this.#publish(slot, amount);
    return { requeueAfterMs: this.#options.pollMs };
  }

  /** What was published stays: it is the best that is known. The next poll asks again. */
  #unanswered(error: unknown): undefined {
    this.#signal.throwIfAborted();
    this.#silent += 1;
    const why = error instanceof Error ? error.message : String(error);
    if (this.#silent === 1)
      this.#context.logger.warn(
        { why },
        "the driver does not tell its capacity; what is published may be old",
      );
  }

  async #ask(slot: Slot, classParameters: Record<string, string>): Promise<Amount> {
    const { driver, timeoutMs } = this.#context;
    const stripped = driverParameters(classParameters);
    const { availableCapacity, maximumVolumeSize } = await driver.client.controller.getCapacity(
      {
        parameters: "error" in stripped ? {} : stripped.parameters,
        ...(driver.info.topology ? { accessibleTopology: { segments: { ...slot.segments } } } : {}),
      },
      { signal: this.#signal, timeoutMs },
    );
    if (this.#silent > 0) this.#context.logger.info({}, "the driver tells its capacity again");
    this.#silent = 0;
    return {
      capacity: formatQuantity(availableCapacity),
      ...(maximumVolumeSize === undefined ? {} : { maximumVolumeSize: formatQuantity(maximumVolumeSize) }),
    };
  }

  async #publish(slot: Slot, amount: Amount): Promise<void> {
    const { store, cluster, driver, namespace } = this.#context;
    const wanted = capacityFor(driver.info.name, namespace, slot, amount);
    const known = cluster.capacities.get(`${namespace}/${wanted.metadata.name}`);
    if (known?.capacity === amount.capacity && known.maximumVolumeSize === amount.maximumVolumeSize) return;
    if (known === undefined) cluster.capacities.wrote(await store.create(CSIStorageCapacities, wanted));
    else {
      const { capacity, maximumVolumeSize = null } = amount;
      const patch = { type: "merge" as const, body: { capacity, maximumVolumeSize } };
      cluster.capacities.wrote(await store.patch(CSIStorageCapacities, objectKey(known), patch));
    }
    gaps.written();
  }

  async #remove(slot: Slot, key: string): Promise<void> {
    const { store, cluster, driver, namespace } = this.#context;
    this.#askedAt.delete(key);
    const known = cluster.capacities.get(`${namespace}/${capacityName(driver.info.name, slot)}`);
    if (known === undefined) return;
    await deleteObject(store, cluster.capacities, known);
    gaps.deleted();
  }

  /** Objects of this slot under other names, left by another program: the scheduler would count them twice. */
  async #removeStrangers(slot: Slot, key: string): Promise<void> {
    const { store, cluster, driver } = this.#context;
    const name = capacityName(driver.info.name, slot);
    for (const object of cluster.capacities.list())
      if (slotKey(slotOf(object)) === key && object.metadata.name !== name)
        await deleteObject(store, cluster.capacities, object);
  }
}
