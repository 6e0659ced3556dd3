import assert from "node:assert/strict";
import { test } from "node:test";
import { claim } from "../testing/objects.ts";
import { isReported, type ModifyStatusChange, modifyStatus } from "./status.ts";

/** What external-resizer tests of a modification's status (modify_status_test.go). */
const [OLD, NOW] = ["2026-01-01T00:00:00Z", "2026-02-02T00:00:00Z"];
const at = (type: string, time: string, message = "") => ({
  ...{ type, message, status: "True" as const, lastTransitionTime: time, lastProbeTime: time },
});
const before = claim(
  "data",
  {},
  {},
  {
    ...{ phase: "Bound", conditions: [at("Theirs", OLD), at("ModifyVolumeError", OLD, "old")] },
    modifyVolumeStatus: { status: "InProgress", targetVolumeAttributesClassName: "gold" },
  },
);
const to = (status: string) => ({ status, targetVolumeAttributesClassName: "gold" });
const error = { type: "ModifyVolumeError", message: "no" } as const;

const ROWS: readonly (readonly [title: string, change: ModifyStatusChange, status: object])[] = [
  [
    "under way",
    {
      progress: { status: "InProgress", target: "gold" },
      condition: { type: "ModifyingVolume", message: "" },
    },
    { conditions: [at("Theirs", OLD), at("ModifyingVolume", NOW)], modifyVolumeStatus: to("InProgress") },
  ],
  [
    "failed, and perhaps made",
    { progress: { status: "InProgress", target: "gold" }, condition: error },
    {
      conditions: [at("Theirs", OLD), at("ModifyVolumeError", NOW, "no")],
      modifyVolumeStatus: to("InProgress"),
    },
  ],
  [
    "failed with the same words",
    { progress: { status: "InProgress", target: "gold" }, condition: { ...error, message: "old" } },
    {
      conditions: [at("Theirs", OLD), at("ModifyVolumeError", OLD, "old")],
      modifyVolumeStatus: to("InProgress"),
    },
  ],
  [
    "infeasible",
    { progress: { status: "Infeasible", target: "gold" }, condition: error },
    {
      conditions: [at("Theirs", OLD), at("ModifyVolumeError", NOW, "no")],
      modifyVolumeStatus: to("Infeasible"),
    },
  ],
  [
    "waiting for its class",
    { progress: { status: "Pending", target: "gold" }, condition: error },
    {
      conditions: [at("Theirs", OLD), at("ModifyVolumeError", NOW, "no")],
      modifyVolumeStatus: to("Pending"),
    },
  ],
  [
    "made",
    { current: "gold" },
    { conditions: [at("Theirs", OLD)], modifyVolumeStatus: null, currentVolumeAttributesClassName: "gold" },
  ],
  ["not wished any more", {}, { conditions: [at("Theirs", OLD)], modifyVolumeStatus: null }],
];
for (const [title, change, status] of ROWS)
  test(`the status of a modification: ${title}`, () =>
    assert.deepEqual(modifyStatus(before, change, NOW), status));

test("an error is written once, and again with other words or for another class", () => {
  const known = {
    progress: { status: "InProgress", target: "gold" },
    condition: { ...error, message: "old" },
  } as const;
  assert.ok(isReported(before, known));
  assert.ok(!isReported(before, { ...known, condition: error }));
  assert.ok(!isReported(before, { ...known, progress: { status: "InProgress", target: "silver" } }));
  assert.ok(!isReported(before, { ...known, progress: { status: "Infeasible", target: "gold" } }));
});
