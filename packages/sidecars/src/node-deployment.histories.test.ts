import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  ConfigMaps,
  CSINodes,
  CSIStorageCapacities,
  type KubeObject,
  lastingSleepers,
  mutate,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
} from "@mooring/store";
import {
  type Disturbance,
  disturb,
  howMany,
  nothingSleeps,
  untilEachHasStepped,
} from "@mooring/store/testing";
import fc from "fast-check";
import { SELECTED_NODE } from "./common/names.ts";
import { forgive } from "./testing/history.ts";
import { NAMES, startWorld, type World } from "./testing/node-deployment.ts";
import { csiNode, node, storageClass } from "./testing/objects.ts";

/** Those that something waits for first: they are disturbed most. */
const KINDS = [
  ...[PersistentVolumeClaims, PersistentVolumes],
  ...[ConfigMaps, CSIStorageCapacities, StorageClasses, Nodes, CSINodes],
] as unknown as Resource<KubeObject>[];

const DEEDS = [
  "claim",
  "claim",
  "late",
  "choose",
  "give-up",
  "full",
  "room",
  "fault",
  "stop",
  "start",
  "classes",
] as const;
type Deed = (typeof DEEDS)[number];
type Change = { do: Deed; which: number } | Disturbance;

const which = fc.nat({ max: 1 });
const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 3, arbitrary: fc.record({ do: fc.constantFrom(...DEEDS), which }) },
  {
    weight: 1,
    arbitrary: fc.record({
      do: fc.constantFrom("delete" as const, "strip" as const, "touch" as const),
      kind: fc.oneof(fc.nat({ max: 1 }), fc.nat({ max: KINDS.length - 1 })),
      which,
    }),
  },
);

/** What users, a scheduler and the nodes may do, twice each. */
function deeds(world: World, number: number): Record<Deed, () => unknown> {
  const { drivers, store } = world;
  const name = NAMES[number] ?? "n1";
  const late = { namespace: "default", name: `late-${number}` };
  const select = (value: string | undefined) =>
    mutate(store, PersistentVolumeClaims, late, ({ metadata }) => {
      const { [SELECTED_NODE]: _, ...others } = metadata.annotations ?? {};
      metadata.annotations = value === undefined ? others : { ...others, [SELECTED_NODE]: value };
    });
  return {
    claim: () => world.create(`now-${number}`),
    late: () => world.create(late.name, { storageClassName: "late" }),
    choose: () => select(name),
    "give-up": () => select(undefined),
    full: () => {
      drivers[name].availableBytes = () => 0n;
    },
    room: () => {
      drivers[name].availableBytes = () => 2n ** 40n;
    },
    fault: () => {
      const [method, code] =
        number === 0
          ? (["CreateVolume", Code.RESOURCE_EXHAUSTED] as const)
          : (["GetCapacity", Code.UNAVAILABLE] as const);
      for (const each of NAMES) drivers[each].faults.add({ method, code, times: 1 });
    },
    stop: () => world.stop(name),
    start: () => world.start(name),
    classes: async () => {
      await store.create(StorageClasses, storageClass()).catch(forgive);
      const volumeBindingMode = "WaitForFirstConsumer";
      await store
        .create(StorageClasses, storageClass({ metadata: { name: "late" }, volumeBindingMode }))
        .catch(forgive);
      for (const each of NAMES) {
        await store.create(Nodes, node(each, { host: each })).catch(forgive);
        await store.create(CSINodes, csiNode(each, ["host"])).catch(forgive);
      }
    },
  };
}

async function make(world: World, what: Change): Promise<void> {
  if (!("kind" in what)) return void (await deeds(world, what.which)[what.do]());
  await disturb(world.store, KINDS, what);
}

/** Controllers that the histories must have given something to do. */
const TAKE_PART = ["capacity", "claim-ownership", "provision", "reclaim"];

test("histories of random changes on nodes with a driver each: no controller sleeps through what it has to do", async (t) => {
  const world = await startWorld(t, { sidecars: { capacity: { pollMs: 2_000 } } });
  await world.create("first");
  await world.placeOf("first");
  await world.store.delete(PersistentVolumeClaims, { namespace: "default", name: "first" });
  await untilEachHasStepped(TAKE_PART);
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 20 }),
      fc.boolean(),
      async (history, atOnce) => {
        if (atOnce) await Promise.all(history.map((each) => make(world, each).catch(forgive)));
        else for (const each of history) await make(world, each).catch(forgive);
        assert.deepEqual(await lastingSleepers(), []);
      },
    ),
    { numRuns: howMany({ everyday: 5, full: 60, deep: 1_000 }), endOnFailure: true },
  );
  await nothingSleeps();
});
