import fc from "fast-check";
import type { AttacherType } from "../api/attachment.ts";
import { ATTACHER_RULES, CLONE_WAITING } from "../tickets/attacher-types.ts";
import { EVENTS, type EventName, type HistoryEvent } from "./history.ts";
import type { Asker, Plan } from "./model.ts";
import { NODES } from "./world.ts";

const types = Object.keys(ATTACHER_RULES) as AttacherType[];

const MEETING: readonly AttacherType[] = ["csi-attacher", "snapshot-controller", "share-manager-controller"];

const askers: fc.Arbitrary<Asker[]> = fc.uniqueArray(
  fc.record({
    id: fc.constantFrom("p", "q", "rr", "s"),
    // Those that take and give way, and the share's, matter more than the rest.
    type: fc.constantFrom(...types, ...MEETING, ...MEETING, ...MEETING),
    nodeID: fc.constantFrom(...NODES),
    parameters: fc.constantFrom<Record<string, string>[]>(
      {},
      { disableFrontend: "any" },
      { disableFrontend: "true" },
      { disableFrontend: "any", [CLONE_WAITING]: "true" },
    ),
    expiresAfter: fc.option(fc.constantFrom(1000, 3000), { nil: undefined, freq: 8 }),
  }),
  { selector: ({ id }) => id, minLength: 1, maxLength: 4 },
);

/** How often things happen, compared with a fault. */
const WEIGHTS: Partial<Record<EventName, number>> = {
  arbiter: 12,
  opener: 10,
  agent: 4,
  ask: 7,
  drop: 2,
  attacher: 4,
  "tear-out": 2,
};
/** Those whose steps may come in a row, so that histories get far. */
const STEPS: readonly EventName[] = ["arbiter", "opener", "agent"];

/** What happens to them, in any order. */
export const events: fc.Arbitrary<HistoryEvent[]> = fc.array(
  fc.oneof(
    ...EVENTS.map((name) => ({
      weight: WEIGHTS[name] ?? 1,
      arbitrary: fc.record({
        name: fc.constant(name),
        who: fc.nat(11),
        times: STEPS.includes(name) ? fc.integer({ min: 1, max: 8 }) : fc.constant(1),
      }),
    })),
  ),
  { maxLength: 60, size: "max" },
);

/** Workloads on two nodes or three, and what may come in their way. */
const movers: fc.Arbitrary<Asker[]> = fc
  .tuple(fc.subarray([...NODES], { minLength: 2 }), fc.option(askers, { nil: [] }))
  .map(([nodes, others]) => [
    ...nodes.map((nodeID) => ({ id: `w${nodeID}`, type: "csi-attacher" as const, nodeID, parameters: {} })),
    ...others.slice(0, 1),
  ]);

/** One who serves, those who use it, and what may come in their way. */
const served: fc.Arbitrary<Asker[]> = fc
  .tuple(fc.constantFrom(...NODES), movers)
  .map(([nodeID, others]) => [
    { id: "m", type: "share-manager-controller", nodeID, parameters: {} },
    ...others,
  ]);

/** A volume and who may ask for it. */
export const plans: fc.Arbitrary<Plan> = fc.oneof(
  {
    weight: 2,
    arbitrary: fc.record({
      shared: fc.boolean(),
      migratable: fc.constant(false),
      kubernetes: fc.boolean(),
      home: fc.option(fc.constantFrom(...NODES), { nil: undefined, freq: 4 }),
      askers,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      shared: fc.constant(false),
      migratable: fc.constant(true),
      kubernetes: fc.boolean(),
      askers: movers,
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({
      shared: fc.constant(true),
      migratable: fc.constant(false),
      kubernetes: fc.boolean(),
      askers: served,
    }),
  },
);
