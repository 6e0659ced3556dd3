import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome } from "@mooring/store";
import { currentPart } from "@mooring/store/testing";
import fc from "fast-check";
import { lockOf } from "../common/member-lock.ts";
import { backendNameOf, MEMBER_FINALIZER } from "../common/volume-group-names.ts";
import { asksFor } from "./selection.ts";
import { ModelWorld } from "./testing/model-world.ts";

const TEAMS = ["red", "blue", "none"];
const CLAIMS = ["a", "b", "c", "d"];
/** The second wants what the first and the third want, too. */
const GROUPS: Record<string, string[]> = { one: ["red"], two: ["red", "blue"], three: ["blue"] };
const RUNS = { everyday: 60, rest: 3_000, all: 3_000, deep: 40_000 }[currentPart()];
/** Modify calls that one change may cost an operator: its own, those that halve a refused set, and one to be sure. */
const CALLS_PER_CHANGE = 12;

type Action =
  | { do: "step" | "decide-only" | "finish"; key: number; operator: number }
  | { do: "make-claim" | "label"; claim: string; team: string }
  | { do: "delete-claim"; claim: string }
  | { do: "make-group" | "delete-group"; group: string }
  | { do: "restart"; operator: number }
  | { do: "deaf" }
  | { do: "tick"; ms: number };

const claim = fc.constantFrom(...CLAIMS);
const team = fc.constantFrom(...TEAMS);
const group = fc.constantFrom(...Object.keys(GROUPS));
const operator = fc.integer({ min: 0, max: 1 });

const action = fc.oneof(
  {
    weight: 24,
    arbitrary: fc.record({
      do: fc.constantFrom("step", "step", "step", "decide-only", "finish"),
      key: fc.nat(10),
      operator,
    }),
  },
  { weight: 6, arbitrary: fc.record({ do: fc.constantFrom("make-claim", "label"), claim, team }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("delete-claim"), claim }) },
  {
    weight: 3,
    arbitrary: fc.record({ do: fc.constantFrom("make-group", "make-group", "delete-group"), group }),
  },
  { weight: 1, arbitrary: fc.record({ do: fc.constant("restart"), operator }) },
  { weight: 1, arbitrary: fc.constant({ do: "deaf" }) },
  { weight: 2, arbitrary: fc.record({ do: fc.constant("tick"), ms: fc.nat(50) }) },
) as fc.Arbitrary<Action>;

class Run {
  readonly world: ModelWorld;
  readonly #operators: number;
  /** By operator: a decision that was made and is not carried out yet, while the world goes on. */
  readonly #pending = new Map<number, ReturnType<ModelWorld["decide"]>>();
  changes = 0;

  constructor(operators: number) {
    this.world = new ModelWorld(operators);
    this.#operators = operators;
    for (const name of CLAIMS) this.world.makeClaim(name, "red");
    for (const [name, teams] of Object.entries(GROUPS)) this.world.makeGroup(name, teams);
  }

  act(what: Action): void {
    const { world } = this;
    if (what.do === "step" || what.do === "decide-only" || what.do === "finish") this.#step(what);
    else this.changes += 1;
    if (what.do === "make-claim") world.makeClaim(what.claim, what.team);
    if (what.do === "label") world.label(what.claim, what.team);
    if (what.do === "delete-claim") world.deleteClaim(what.claim);
    if (what.do === "make-group") world.makeGroup(what.group, GROUPS[what.group] ?? []);
    if (what.do === "delete-group") world.deleteGroup(what.group);
    if (what.do === "restart") world.restart(what.operator % this.#operators);
    if (what.do === "deaf") world.deaf = true;
    if (what.do === "tick") world.tick(what.ms);
  }

  #step(what: { do: "step" | "decide-only" | "finish"; key: number; operator: number }): void {
    const operator = what.operator % this.#operators;
    const pending = this.#pending.get(operator);
    // One loop has one step under way.
    if (pending !== undefined) {
      this.#pending.delete(operator);
      this.world.apply(pending, operator);
      return;
    }
    const keys = this.world.keys();
    const key = keys[what.key % Math.max(1, keys.length)];
    if (key === undefined || what.do === "finish") return;
    const decided = this.world.decide(key, operator);
    if (isOutcome(decided.step)) return;
    if (what.do === "decide-only") this.#pending.set(operator, decided);
    else this.world.apply(decided, operator);
  }

  settle(): void {
    for (const [operator, pending] of this.#pending) this.world.apply(pending, operator);
    this.#pending.clear();
    this.world.deaf = false;
    this.world.settle();
  }

  /** A volume is in one group, and whoever has it in a group has its claim: it cannot go from under the group. */
  assertProtected(): void {
    const { backend, claims } = this.world;
    const locks = [...claims.values()].flatMap((each) => lockOf(each) ?? []);
    for (const { members, name } of backend.groups.values())
      for (const handle of members) {
        const lock = locks.find((each) => each.handle === handle);
        assert.equal(
          lock && backendNameOf(lock.uid),
          name,
          `${handle} is in ${name} and held by ${lock?.name}`,
        );
      }
  }

  /** Members are the claims that a group asks for and has won; each claim that is asked for is in just one. */
  assertSettled(): void {
    const { backend, claims, groups } = this.world;
    const seen = new Set<string>();
    for (const each of groups.values()) {
      const stored = [...backend.groups.values()].find(
        ({ name }) => name === backendNameOf(each.metadata.uid ?? ""),
      );
      assert.ok(stored, `${each.metadata.name} is there`);
      const held = [...claims.values()].filter((one) => lockOf(one)?.uid === each.metadata.uid);
      for (const one of held)
        assert.ok(asksFor(each, one), `${one.metadata.name} belongs to ${each.metadata.name}`);
      const handles = held.map((one) => lockOf(one)?.handle ?? "").sort();
      assert.deepEqual([...stored.members].sort(), handles, each.metadata.name);
      for (const handle of handles) assert.ok(!seen.has(handle), `${handle} is in one group`);
      for (const handle of handles) seen.add(handle);
      const synced = each.status?.conditions?.find(({ type }) => type === "MembersSynced");
      assert.equal(synced?.status, "True", synced?.message);
    }
    for (const one of claims.values()) {
      const isWanted = [...groups.values()].some((each) => asksFor(each, one));
      assert.equal(lockOf(one) !== undefined, isWanted, `${one.metadata.name} has a group`);
      assert.equal(one.metadata.finalizers?.includes(MEMBER_FINALIZER) === true, isWanted);
    }
  }

  end(): void {
    for (const name of Object.keys(GROUPS)) this.world.deleteGroup(name);
    for (const name of CLAIMS) this.world.deleteClaim(name);
    this.world.settle();
    const { backend, claims, contents, groups } = this.world;
    assert.deepEqual([...groups.keys(), ...contents.keys(), ...claims.keys(), ...backend.groups.keys()], []);
    assert.deepEqual([...backend.deletedVolumes], []);
  }
}

for (const operators of [1, 2])
  test(`${operators} of the operator, whatever comes in between: members are who is asked for and won, once each, and nothing is left`, () => {
    fc.assert(
      fc.property(fc.array(action, { maxLength: 60 }), (actions) => {
        const run = new Run(operators);
        for (const each of actions) {
          run.act(each);
          // Of two, one may act on an old picture; the other puts that right before it says that all is well.
          if (operators === 1) run.assertProtected();
        }
        run.settle();
        run.assertProtected();
        run.assertSettled();
        const most = CALLS_PER_CHANGE * operators * (run.changes + CLAIMS.length);
        assert.ok(run.world.modified <= most, `${run.world.modified} calls for ${run.changes} changes`);
        run.end();
      }),
      { numRuns: RUNS },
    );
  });
