import type { PersistentVolume } from "@mooring/store";
import { selectsNode, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { source } from "../common/source.ts";
import { type Slot, slotKey, slotOf } from "../kube/capacity-slot.ts";
import { canonicalTerms, type Segments } from "../topology/terms.ts";
import { CapacityEffects } from "./apply.ts";
import { type CapacityStep, type CapacityView, capacityName, decideCapacity, isPublished } from "./decide.ts";
import { type CapacityCounts, countCapacities } from "./metrics.ts";
import { readPlaces, readSlot } from "./read.ts";
import { CapacityResults } from "./results.ts";

const failpoints = stepFailpoints<CapacityStep>("sidecars/capacity", {
  "delete-duplicates": true,
  "delete-capacity": true,
  "ask-driver": true,
  publish: true,
});

/** Of which classes capacity is published, and how often the driver is asked. Times in milliseconds. */
export interface CapacityOptions {
  /** Milliseconds between two calls of the driver; default 60,000. */
  pollMs: number;
  /** Also for classes with immediate binding. */
  immediateBinding: boolean;
}

/** Publishes how much each class can still get in each place, for the scheduler. Keys are slots. */
export async function runCapacity(
  context: SidecarContext,
  given: Partial<CapacityOptions>,
  signal: AbortSignal,
): Promise<void> {
  const results = new CapacityResults();
  const settings = { pollMs: 60_000, immediateBinding: false, ...given, results };
  const effects = new CapacityEffects(context, results, signal);
  const { cluster, driver } = context;
  const ofClass = (className: string) =>
    canonicalTerms(readPlaces(context)).map((segments) => slotKey({ className, segments }));
  const everything = () => cluster.classes.list().flatMap(({ metadata }) => ofClass(metadata.name));
  const hasPlaces = driver.info.topology && context.here === undefined;
  const places = hasPlaces ? [cluster.csiNodes, cluster.nodes] : [];
  const labels = new Map<string, string>();
  const controller = sidecarController(context, {
    name: "capacity",
    failpoints,
    concurrency: 2,
    sources: [
      source(cluster.classes, ({ metadata }) => ofClass(metadata.name)),
      source(cluster.capacities, (object) => [slotKey(slotOf(object))]),
      // A node that comes, or gets other labels, may be a place that has no key yet.
      ...(hasPlaces
        ? [
            source(cluster.csiNodes, everything),
            source(cluster.nodes, ({ metadata }) => {
              const before = labels.get(metadata.name);
              const now = JSON.stringify(cluster.nodes.get(metadata.name)?.metadata.labels ?? null);
              labels.set(metadata.name, now);
              return before === now ? [] : everything();
            }),
          ]
        : []),
    ],
    watched: [cluster.classes, ...places],
    read: (key, from) => readSlot(key, from, settings),
    isGone: ({ wanted }: CapacityView) => !wanted,
    decide: decideCapacity,
    apply: (step: CapacityStep, view) => effects.apply(step, view),
  });
  // What the driver reports changes with its volumes, where they are.
  const unfollow = cluster.volumes.informer.onChange((old, current) => {
    const volume = current ?? old;
    if (volume === undefined || !isOf(volume, driver.info.name)) return;
    if (old !== undefined && current !== undefined && isAsLarge(old, current)) return;
    for (const key of results.changed(reachOf(volume))) controller.add(key);
  });
  const uncount = countCapacities(() => countsOf(context, settings.immediateBinding));
  try {
    await cluster.volumes.informer.synced(signal);
    await controller.run(signal);
  } finally {
    uncount();
    unfollow();
  }
}

function countsOf(context: SidecarContext, immediateBinding: boolean): CapacityCounts {
  const { cluster, driver, here, namespace } = context;
  const places = canonicalTerms(readPlaces(context));
  const { name } = driver.info;
  const wanted = cluster.classes
    .list()
    .filter((each) => isPublished(each, name, immediateBinding))
    .flatMap(({ metadata }) => places.map((segments) => ({ className: metadata.name, segments })));
  const isThere = (slot: Slot) =>
    cluster.capacities.get(`${namespace}/${capacityName(name, slot, here?.node)}`) !== undefined;
  const current = wanted.filter(isThere).length;
  return {
    ...{ driver: name, goal: wanted.length, current },
    obsolete: cluster.capacities.list().length - current,
  };
}

const isAsLarge = (a: PersistentVolume, b: PersistentVolume): boolean =>
  a.metadata.uid === b.metadata.uid && a.spec?.capacity?.storage === b.spec?.capacity?.storage;

/** The places from which a volume is reached. */
function reachOf({ spec }: PersistentVolume): (segments: Segments) => boolean {
  const selector = spec?.nodeAffinity?.required;
  return (segments) => selectsNode(selector, { metadata: { name: "", labels: { ...segments } } });
}

const isOf = ({ spec }: PersistentVolume, driver: string): boolean => spec?.csi?.driver === driver;
