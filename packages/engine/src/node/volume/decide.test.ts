import assert from "node:assert/strict";
import { test } from "node:test";
import { defined, hasFinalizer, isOutcome } from "@mooring/store";
import { covers, howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import type { VolumeState, VolumeStatus } from "../../api/volume.ts";
import { volumeObject } from "../../testing/agent.ts";
import { ATTACHMENT_TABLE, type AttachmentState, type Place } from "./attachment-table.ts";
import { decide } from "./decide.ts";
import type { VolumeStep, VolumeView } from "./view.ts";

const NODE = "here";
const NOW = new Date("2026-01-01T00:00:00Z");
const STATES: readonly VolumeState[] = [
  "creating",
  "detached",
  "attaching",
  "attached",
  "detaching",
  "deleting",
];
const nodes = fc.constantFrom(undefined, "", NODE, "elsewhere");

const statuses: fc.Arbitrary<VolumeStatus | undefined> = fc.option(
  fc.record(
    {
      state: fc.constantFrom(...STATES),
      ownerID: fc.constant(NODE),
      robustness: fc.constantFrom("unknown" as const, "healthy" as const, "faulted" as const),
      currentNodeID: fc.constantFrom("", NODE, "elsewhere"),
      device: fc.constantFrom("/dev/loop1", "/dev/loop2"),
      size: fc.constantFrom(4096, 8192),
      formatted: fc.constantFrom("ext4", "xfs"),
      error: fc.constant({ code: "INTERNAL", message: "old" }),
    },
    { requiredKeys: ["state"] },
  ) as fc.Arbitrary<VolumeStatus>,
  { nil: undefined },
);

const views: fc.Arbitrary<VolumeView> = fc
  .record({
    nodeID: nodes,
    size: fc.constantFrom(4096, 8192, 16384),
    status: statuses,
    finalizer: fc.boolean(),
    deleting: fc.boolean(),
    open: fc.boolean(),
    image: fc.option(fc.constantFrom({ size: 4096 }, { size: 8192 }), { nil: undefined }),
    device: fc.option(
      fc.constantFrom({ path: "/dev/loop1", sizeBytes: 4096 }, { path: "/dev/loop3", sizeBytes: 8192 }),
      {
        nil: undefined,
      },
    ),
    source: fc.constantFrom<VolumeView["source"]>(
      { state: "none" },
      { state: "ready", here: true, formatted: "xfs" },
      { state: "ready", here: true },
      { state: "ready", here: false },
      { state: "waiting", message: "w" },
      { state: "missing", message: "m" },
      { state: "unfit", message: "u" },
    ),
  })
  .map(({ nodeID, size, status, finalizer, deleting, open, image, device, source }) => {
    const volume = volumeObject("v-p-1", { size, ...defined({ nodeID }) });
    if (status !== undefined) volume.status = status;
    if (finalizer) volume.metadata.finalizers = [ENGINE_FINALIZER];
    if (deleting) volume.metadata.deletionTimestamp = NOW.toISOString();
    return {
      volume,
      nodeID: NODE,
      pool: open ? { block: true } : undefined,
      image,
      device,
      source,
      jobs: [],
      fault: undefined,
      now: NOW,
    };
  });

/** What the machine and the store would do. */
function perform(view: VolumeView, step: VolumeStep): VolumeView | undefined {
  const { volume, image } = view;
  const wish = Math.ceil(volume.spec.size / 4096) * 4096;
  switch (step.do) {
    case "record":
      return { ...view, volume: { ...volume, status: step.status } };
    case "add-finalizer":
      return {
        ...view,
        volume: { ...volume, metadata: { ...volume.metadata, finalizers: [ENGINE_FINALIZER] } },
      };
    case "create-image":
    case "grow-image":
      return { ...view, image: { size: wish } };
    case "open-device":
      return { ...view, device: { path: "/dev/loop7", sizeBytes: image?.size ?? 0 } };
    case "refresh-device":
      return { ...view, device: { path: view.device?.path ?? "", sizeBytes: image?.size ?? 0 } };
    case "close-device":
      return { ...view, device: undefined };
    case "remove-image":
      return { ...view, image: undefined };
    default:
      return undefined;
  }
}

function run(start: VolumeView): { view: VolumeView; end: VolumeStep; trail: [VolumeView, VolumeStep][] } {
  const trail: [VolumeView, VolumeStep][] = [];
  for (let view = start; ; ) {
    const step = decide(view);
    trail.push([view, step]);
    const next = perform(view, step);
    if (next === undefined) return { view, end: step, trail };
    assert.ok(trail.length < 20, `no rest: ${trail.map(([, s]) => s.do).join(" ")}`);
    view = next;
  }
}

const frozen = <T>(value: T): T => {
  if (typeof value === "object" && value !== null && !(value instanceof Date)) {
    Object.values(value).forEach(frozen);
    Object.freeze(value);
  }
  return value;
};

test("every combination of wanted node, current node and state has an action", () => {
  covers("LHA-004", "LHA-080");
  const places: readonly Place[] = ["nowhere", "here", "elsewhere"];
  const states: readonly AttachmentState[] = ["detached", "attaching", "attached", "detaching"];
  for (const wanted of places) {
    for (const current of places) {
      for (const state of states) assert.ok(ATTACHMENT_TABLE[wanted][current][state]);
    }
  }
});

test("whatever the volume was, it comes to where it is wanted, or an error says why not", () => {
  covers("LHA-004");
  fc.assert(
    fc.property(views, (start) => {
      const { view, end } = run(frozen(start));
      const { volume, device, image } = view;
      const { nodeID = "" } = volume.spec;
      if (end.do === "fail" || end.do === "remove-finalizer") return;
      if (view.volume.metadata.deletionTimestamp !== undefined && !hasFinalizer(volume, ENGINE_FINALIZER))
        return;
      assert.ok(isOutcome(end), end.do);
      if (view.source.state === "ready" && !view.source.here && image === undefined) return;
      assert.ok(image !== undefined);
      if (nodeID === NODE) {
        assert.equal(volume.status?.state, "attached");
        assert.equal(volume.status?.currentNodeID, NODE);
        assert.equal(volume.status?.device, device?.path);
      } else {
        assert.equal(volume.status?.state, "detached");
        assert.equal(volume.status?.currentNodeID ?? "", "");
        assert.equal(device, undefined);
      }
      assert.equal(volume.status?.error, undefined);
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

test("the current node is set with an open device only, and cleared with a closed one only", () => {
  covers("LHA-026", "LHA-027");
  fc.assert(
    fc.property(views, (start) => {
      for (const [view, step] of run(start).trail) {
        if (step.do !== "record") continue;
        const before = view.volume.status?.currentNodeID ?? "";
        const after = step.status.currentNodeID ?? "";
        if (after === before) continue;
        if (after !== "") assert.ok(view.device !== undefined && after === NODE);
        else assert.equal(view.device === undefined || step.what === "created", true);
      }
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

test("data is never made anew, nor removed under a user or without a deletion", () => {
  fc.assert(
    fc.property(views, (start) => {
      for (const [view, step] of run(start).trail) {
        const { volume, device, image } = view;
        if (step.do === "create-image") {
          assert.equal(volume.status?.state, "creating");
          assert.equal(image, undefined);
        }
        if (step.do === "remove-image") {
          assert.ok(volume.metadata.deletionTimestamp !== undefined && device === undefined);
        }
        if (step.do === "remove-finalizer") assert.ok(image === undefined && device === undefined);
        if (step.do === "record" && step.what !== "creating") {
          assert.equal(
            step.status.formatted ?? volume.status?.formatted,
            volume.status?.formatted ?? step.status.formatted,
          );
        }
      }
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

test("a volume that is attached to this node stays while it is being deleted", () => {
  fc.assert(
    fc.property(views, (start) => {
      if (start.volume.spec.nodeID !== NODE || start.volume.status?.state !== "attached") return;
      const { currentNodeID, size } = start.volume.status;
      if (currentNodeID !== NODE || size === undefined) return;
      const { trail } = run(start);
      for (const [, step] of trail)
        assert.ok(!["close-device", "remove-image", "remove-finalizer"].includes(step.do));
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

test("an image that is gone or was truncated opens no device, is not made whole again, and makes no volume healthy", () => {
  fc.assert(
    fc.property(views, (start) => {
      for (const [view, step] of run(start).trail) {
        const { size } = view.volume.status ?? {};
        // A volume recorded as larger than anybody ever wanted it was edited by hand.
        const had = Math.min(size ?? 0, view.volume.spec.size);
        const damaged = size !== undefined && (view.image === undefined || view.image.size < had);
        if (!damaged) continue;
        assert.notEqual(step.do, "open-device");
        assert.notEqual(step.do, "grow-image");
        assert.notEqual(step.do, "create-image");
        if (step.do === "record") assert.notEqual(step.what, "recovered");
      }
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
});

test("a shared pool's device that shows a replaced file is dropped before anything else; one that is all there is, is kept", () => {
  const lease = { held: true, takenFrom: undefined };
  const device = { path: "/dev/loop1", sizeBytes: 4096, deleted: true };
  fc.assert(
    fc.property(views, ({ image, ...view }) => {
      const step = decide({ ...view, image: image ?? { size: 4096 }, device, lease });
      assert.deepEqual(step, { do: "drop-device" });
      assert.notEqual(decide({ ...view, image: undefined, device, lease }).do, "drop-device");
      // Nobody else can put a file in the place of one of ours alone.
      const { lease: _, ...own } = { ...view, lease };
      assert.notEqual(decide({ ...own, image, device }).do, "drop-device");
    }),
  );
});

test("a fenced device that only its users keep is not dropped again: who they are is reported, or the volume leaves without it", () => {
  const lease = { held: true, takenFrom: undefined };
  const device = { path: "/dev/loop1", sizeBytes: 512, fenced: true };
  let reported = 0;
  let released = 0;
  fc.assert(
    fc.property(views, fc.boolean(), ({ fault: _, ...start }, deleted) => {
      assert.deepEqual(decide({ ...start, fault: undefined, device, lease }), { do: "drop-device" });
      const fault = { cause: "filesystem" as const, message: "it was shut down" };
      const marked = { ...device, deleted, autoclear: true };
      const users = ["mounted at /pods/p"];
      // The machine keeps it, whatever becomes of the record.
      for (let view: VolumeView = { ...start, fault, lease, users, device: marked }, steps = 0; ; steps++) {
        const step = decide(view);
        if (view.volume.spec.nodeID === NODE) {
          assert.ok(step.do === "fail" && step.code === "FAILED_PRECONDITION", step.do);
          assert.match(step.message, /loop1 was fenced .* v-p-1, and is still in use: mounted at \/pods\/p;/);
          assert.match(step.hint ?? "", /^end the pod or process/);
          reported += 1;
          return;
        }
        assert.ok(!["drop-device", "close-device", "refresh-device"].includes(step.do), step.do);
        if (step.do === "record") {
          assert.notEqual(step.status.salvage?.cause, "filesystem");
          if (step.what === "released") released += 1;
        }
        const next = perform(view, step);
        if (next === undefined) return;
        assert.ok(steps < 20, "no rest");
        view = { ...next, device: marked };
      }
    }),
    { numRuns: howMany({ everyday: 3_000, deep: 30_000 }) },
  );
  assert.ok(reported > 0 && released > 0, `reported ${reported} times, released ${released} times`);
});

test("a fenced device is not refreshed: however often, it does not get the size of its image", () => {
  let refreshed = 0;
  fc.assert(
    fc.property(views, (start) => {
      for (const [view, step] of run(start).trail) {
        if (step.do !== "refresh-device" || view.device === undefined) continue;
        refreshed += 1;
        assert.notEqual(decide({ ...view, device: { ...view.device, fenced: true } }).do, "refresh-device");
      }
    }),
    // Of a hundred views one or two get there.
    { numRuns: 3_000 },
  );
  assert.ok(refreshed > 0, "no device was ever smaller than its image");
});

test("the same view gives the same step", () => {
  fc.assert(fc.property(views, (view) => assert.deepEqual(decide(view), decide(structuredClone(view)))));
});
