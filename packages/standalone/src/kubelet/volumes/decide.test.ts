import assert from "node:assert/strict";
import { test } from "node:test";
import { DONE, wait } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import fc from "fast-check";
import {
  type Certainty,
  type CsiVolumeStep,
  type CsiVolumeView,
  decideCsiVolume,
  decideStep,
} from "./decide.ts";

interface World {
  wants: Set<string>;
  publications: Map<string, Certainty>;
  staged: Certainty;
  inUse: boolean;
  attached: boolean;
  needsExpansion: boolean;
}

function viewOf(world: World): CsiVolumeView {
  return {
    wantedBy: [...world.wants],
    publications: [...world.publications].map(([podUID, state]) => ({ podUID, state, inUse: false })),
    staged: world.staged,
    stages: true,
    needsAttach: true,
    reportedInUse: world.inUse,
    attached: world.attached && world.inUse,
    needsExpansion: world.needsExpansion,
  };
}

/** What must be true at the moment of each call to the driver. */
function checked(step: CsiVolumeStep, world: World): void {
  if (step.do === "stage")
    assert.ok(world.inUse && world.attached, "staged only when attached and reported in use");
  if (step.do === "publish") assert.ok(world.staged === "yes" && world.wants.has(step.podUID));
  if (step.do === "unpublish") assert.ok(!world.wants.has(step.podUID));
  if (step.do === "unstage")
    assert.equal(world.publications.size, 0, "unstaged only when nothing is published");
  if (step.do === "report-unused") assert.ok(world.staged === "no" && world.publications.size === 0);
}

function carryOut(step: CsiVolumeStep, world: World, succeeds: boolean): void {
  const result: Certainty = succeeds ? "yes" : "maybe";
  if (step.do === "report-in-use") world.inUse = true;
  if (step.do === "report-unused") world.inUse = false;
  if (step.do === "wait-for-attach") world.attached = true;
  if (step.do === "stage") world.staged = result;
  if (step.do === "unstage") world.staged = succeeds ? "no" : "maybe";
  if (step.do === "publish") world.publications.set(step.podUID, result);
  if (step.do === "unpublish" && succeeds) world.publications.delete(step.podUID);
  if (step.do === "expand" && succeeds) world.needsExpansion = false;
  if (!world.inUse) world.attached = false;
}

test("whatever pods come and go and whichever call fails: order is kept, and it ends where it should", () => {
  covers("CSI-249", "CSI-250", "CSI-262", "CSI-267");
  const certainty = fc.constantFrom<Certainty>("no", "maybe", "yes");
  const event = fc.record({
    pod: fc.constantFrom("p", "q"),
    comes: fc.boolean(),
    steps: fc.nat(4),
    succeeds: fc.boolean(),
  });
  fc.assert(
    fc.property(
      certainty,
      fc.subarray(["p", "q"]),
      fc.boolean(),
      fc.array(event, { maxLength: 8 }),
      (staged, published, needsExpansion, events) => {
        // As after a restart: whatever is on disk may be there.
        const found = new Map(published.map((uid) => [uid, "maybe" as Certainty]));
        const world: World = {
          wants: new Set(),
          publications: found,
          staged: published.length > 0 ? "maybe" : staged,
          inUse: true,
          attached: true,
          needsExpansion,
        };
        const run = (succeeds: boolean): CsiVolumeStep => {
          const step = decideCsiVolume(viewOf(world));
          checked(step, world);
          carryOut(step, world, succeeds);
          return step;
        };
        for (const { pod, comes, steps, succeeds } of events) {
          if (comes) world.wants.add(pod);
          else world.wants.delete(pod);
          for (let i = 0; i < steps; i += 1) run(succeeds);
        }
        for (let i = 0; run(true).do !== "wait"; i += 1) assert.ok(i < 20, "it comes to rest");
        for (const uid of world.wants) assert.equal(world.publications.get(uid), "yes");
        assert.equal(world.publications.size, world.wants.size);
        if (world.wants.size === 0) assert.deepEqual([world.staged, world.inUse], ["no", false]);
      },
    ),
  );
});

test("what a pod still has is not unpublished, although nobody asks for it yet", () => {
  const view: CsiVolumeView = {
    wantedBy: [],
    publications: [{ podUID: "p", state: "maybe", inUse: true }],
    staged: "maybe",
    stages: true,
    needsAttach: true,
    reportedInUse: true,
    attached: true,
    needsExpansion: false,
  };
  assert.deepEqual(decideCsiVolume(view), { do: "wait" });
});

test("a volume of one pod is published without being staged, and goes without it", () => {
  const view: CsiVolumeView = {
    ...{ wantedBy: ["p"], publications: [], staged: "no", stages: false },
    ...{ needsAttach: false, reportedInUse: false, attached: false, needsExpansion: false },
  };
  assert.deepEqual(decideCsiVolume(view), { do: "publish", podUID: "p" });
  const publications = [{ podUID: "p", state: "yes" as const, inUse: false }];
  assert.deepEqual(decideCsiVolume({ ...view, wantedBy: [], publications }), {
    do: "unpublish",
    podUID: "p",
  });
  assert.deepEqual(decideStep({ ...view, wantedBy: [] }), DONE);
});

test("what is published again is so when it is due, the longest overdue first, and only for pods that want it", () => {
  const published = (podUID: string, republishInMs: number) => {
    return { podUID, state: "yes" as const, inUse: true, republishInMs };
  };
  const view = (...publications: CsiVolumeView["publications"]): CsiVolumeView => ({
    ...{ wantedBy: ["p", "q"], publications, staged: "yes", stages: true, needsAttach: false },
    ...{ reportedInUse: false, attached: false, needsExpansion: false },
  });
  assert.deepEqual(decideStep(view(published("p", 300), published("q", 200))), wait(200));
  const late = view(published("p", 300), published("q", 0), published("r", 0));
  assert.deepEqual(decideCsiVolume(late), { do: "republish", podUID: "q" });
  assert.deepEqual(decideCsiVolume({ ...late, needsExpansion: true }), { do: "expand" });
});
