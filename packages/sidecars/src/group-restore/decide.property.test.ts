import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome, type PersistentVolumeClaim } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { RESTORE_UID, type VolumeGroupRestore } from "../kube/group-restore.ts";
import { claim, storageClass } from "../testing/objects.ts";
import { decideGroupRestore } from "./decide.ts";
import { groupContent, groupRestore, groupSnapshot, member } from "./testing/group.ts";
import type { GroupRestoreView, MemberView } from "./view.ts";

/**
 * A namespace without clocks and sockets: one group snapshot, one restore of it. Users, provisioner and scheduler act
 * between the steps; a crash forgets nothing, because a decision is made of objects alone.
 */
type Action =
  | { do: "step" }
  | { do: "ready" | "unready" | "delete-group" | "delete-source" }
  | { do: "bind" | "delete-claim" | "squat" | "free" | "delete-snapshot" | "refuse"; which: number };

const SOURCES = ["data", "wal", "extra"];

class World {
  restore: VolumeGroupRestore = groupRestore();
  group: GroupRestoreView["groupSnapshot"] = groupSnapshot({ readyToUse: false });
  members: MemberView[] = SOURCES.map((name) => member(name));
  claims = new Map<string, PersistentVolumeClaim>(SOURCES.map((name) => [name, claim(name)]));
  refused = new Map<string, string>();
  created: string[] = [];
  /** Claims of other users, which must stay as they are. */
  squatters = new Map<string, PersistentVolumeClaim>();

  view(backoffMs = 0): GroupRestoreView {
    const { restore, members, claims, refused } = this;
    const content = this.group === undefined ? undefined : groupContent(SOURCES);
    const now = "2026-01-01T00:00:00Z";
    return {
      ...{ driver: "test.csi.example.com", restore, groupSnapshot: this.group, content, members, claims },
      ...{ classes: [storageClass()], refused, troubles: new Map(), backoffMs, now },
    };
  }

  /** One step; false when there is nothing to do. */
  step(): boolean {
    const step = decideGroupRestore(this.view(this.refused.size > 0 ? 10 : 0));
    if (isOutcome(step)) return false;
    if (step.do === "write-status") {
      this.restore = { ...this.restore, status: step.status };
      return true;
    }
    assert.equal(step.do, "create-claims", "no group was asked for");
    assert.ok(step.claims.length > 0);
    for (const each of step.claims) this.create(each);
    return true;
  }

  create(made: PersistentVolumeClaim): void {
    const { name } = made.metadata;
    assert.ok(!this.claims.has(name), "only what is not there is made");
    assert.ok(!this.wasComplete, "nothing is made after it was complete");
    const source = this.members.find(
      ({ snapshot }) => snapshot.metadata.name === made.spec?.dataSource?.name,
    );
    assert.ok(source, "the snapshot is there");
    assert.equal(name, `${source.snapshot.spec.source.persistentVolumeClaimName}-again`);
    this.claims.set(name, made);
    this.created.push(name);
  }

  get wasComplete(): boolean {
    return this.isTrue("Complete");
  }

  isTrue(type: string): boolean {
    return this.restore.status?.conditions?.find((each) => each.type === type)?.status === "True";
  }

  /** To rest; a machine that never rests has lost its way. */
  settle(): void {
    for (let steps = 0; steps < 30; steps += 1) if (!this.step()) return;
    assert.fail(`no rest: ${JSON.stringify(this.restore.status)}`);
  }

  act(action: Action): void {
    const name = "which" in action ? `${SOURCES[action.which]}-again` : "";
    const there = this.claims.get(name);
    const isOurs = there?.metadata.annotations?.[RESTORE_UID] === this.restore.metadata.uid;
    if (action.do === "step") this.step();
    if (action.do === "ready" && this.group) this.group = groupSnapshot();
    if (action.do === "unready" && this.group) this.group = groupSnapshot({ readyToUse: false });
    if (action.do === "delete-group") this.group = undefined;
    if (action.do === "delete-source") this.claims.delete("data");
    if (action.do === "bind" && isOurs && there)
      this.claims.set(name, { ...there, status: { phase: "Bound" } });
    if (action.do === "delete-claim" && isOurs) this.claims.delete(name);
    if (action.do === "squat" && !there) {
      const squatter = claim(name);
      this.claims.set(name, squatter);
      this.squatters.set(name, squatter);
    }
    if (action.do === "free" && this.squatters.delete(name)) this.claims.delete(name);
    if (action.do === "delete-snapshot" && this.members.length > 2) this.members.splice(action.which, 1);
    if (action.do === "refuse") this.refused = new Map(action.which === 0 ? [] : [[name, "no"]]);
  }
}

const which = fc.integer({ min: 0, max: SOURCES.length - 1 });
const action: fc.Arbitrary<Action> = fc.oneof(
  { weight: 6, arbitrary: fc.constant<Action>({ do: "step" }) },
  fc.constantFrom<Action>(
    { do: "ready" },
    { do: "unready" },
    { do: "delete-group" },
    { do: "delete-source" },
  ),
  fc.record({
    do: fc.constantFrom("bind", "delete-claim", "squat", "free", "delete-snapshot", "refuse"),
    which,
  }) as fc.Arbitrary<Action>,
);

test("whatever happens in between, a restore rests, touches nothing of others, and reports how it stands", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 40 }), (actions) => {
      const world = new World();
      let complete = false;
      for (const each of actions) {
        world.act(each);
        assert.ok(!complete || world.wasComplete, "complete once is complete for ever");
        complete = world.wasComplete;
        for (const [name, squatter] of world.squatters) assert.equal(world.claims.get(name), squatter);
      }
      world.settle();
      assert.ok(world.restore.status?.message, "it has a message");
      if (world.isTrue("Ready"))
        assert.deepEqual(
          world.restore.status?.members?.map(({ phase }) => phase),
          SOURCES.map(() => "Bound"),
        );
    }),
    { numRuns: howMany({ everyday: 1_000, full: 3_000 }) },
  );
});

test("left alone with a group snapshot that is ready, every restore ends ready with one claim per member", () => {
  fc.assert(
    fc.property(fc.array(action, { maxLength: 15 }), (actions) => {
      const world = new World();
      for (const each of actions) {
        const harmful = ["delete-group", "delete-snapshot", "delete-source"].includes(each.do);
        if (!harmful && !(each.do === "delete-claim" && world.wasComplete)) world.act(each);
      }
      world.act({ do: "ready" });
      for (const [name] of [...world.squatters]) {
        world.squatters.delete(name);
        world.claims.delete(name);
      }
      world.refused.clear();
      world.settle();
      for (const [index] of SOURCES.entries()) world.act({ do: "bind", which: index });
      world.settle();
      assert.equal(world.restore.status?.phase, "Ready", JSON.stringify(world.restore.status));
    }),
    { numRuns: howMany({ everyday: 700, full: 2_000 }) },
  );
});
