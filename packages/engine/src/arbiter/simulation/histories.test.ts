import assert from "node:assert/strict";
import { test } from "node:test";
import fc from "fast-check";
import type { AttacherType } from "../../api/attachment.ts";
import { ATTACHER_RULES, CLONE_WAITING } from "../attacher-types.ts";
import { type Asker, EVENTS, type EventName, History, type HistoryEvent, type Plan } from "./history.ts";
import { settle } from "./settle.ts";
import { NODES } from "./world.ts";

// `scripts/mutate-arbiter.mjs` breaks the arbiter in the ways that mutations.json lists, one at a time, and checks that
// these histories find it, and by which property.
const HISTORIES = process.env["MOORING_DEEP"] === "1" ? 100_000 : 2000;

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

const events: fc.Arbitrary<HistoryEvent[]> = fc.array(
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

const plans: fc.Arbitrary<Plan> = fc.oneof(
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

type End = "return" | "fence";

/** Runs one history to its end; what went wrong, and the story of it, or undefined. */
function failureOf(plan: Plan, happened: readonly HistoryEvent[], end: End): string | undefined {
  const history = new History(plan);
  try {
    for (const event of happened) history.happen(event);
    settle(history, end);
    return undefined;
  } catch (error) {
    const place = plan.home === undefined ? "every node can reach" : `only node "${plan.home}" can reach`;
    const where = plan.kubernetes ? "in Kubernetes" : "of a driver alone";
    const kind = plan.migratable ? "migratable" : plan.shared ? "shared" : "private";
    const lines = [`a ${kind} volume ${where} that ${place}`, ...history.world.story];
    return [String(error), ...lines.map((line, i) => `${String(i).padStart(4)}. ${line}`)].join("\n");
  }
}

test("[LHA-002] [LHA-004] [LHA-023] [LHA-026] [LHA-027] [LHA-030] [LHA-031] [LHA-061] random histories with faults keep the volume safe, and come to rest", () => {
  const property = fc.property(
    plans,
    events,
    fc.constantFrom<End[]>("return", "fence"),
    (plan, happened, end) => failureOf(plan, happened, end) === undefined,
  );
  const { failed, counterexample, seed, counterexamplePath, numShrinks } = fc.check(property, {
    numRuns: HISTORIES,
  });
  if (!failed) return;
  const story = counterexample === null ? "" : failureOf(...counterexample);
  assert.fail(`${story}\n(seed ${seed}, path ${counterexamplePath}, shrunk ${numShrinks} times)`);
});
