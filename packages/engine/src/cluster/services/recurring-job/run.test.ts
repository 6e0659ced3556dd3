import assert from "node:assert/strict";
import { test } from "node:test";
import type { JobRun, RecurringJob } from "../../../api/recurring-job.ts";
import { finishRun } from "./run.ts";
import type { JobView } from "./view.ts";

const job: RecurringJob = {
  ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "RecurringJob", metadata: { name: "daily" } },
  spec: { cron: "@daily", task: "snapshot", retain: 1 },
};

function finished(status: NonNullable<RecurringJob["status"]>, states: ("Ready" | "Failed")[], time: string) {
  const view: JobView = {
    ...{ job: { ...job, status }, now: new Date(time), members: [], snapshots: [] },
    ...{ inUse: new Set<string>(), schedule: { missed: 0 } },
  };
  const tasks = states.map((state, index) => ({ volume: `v${index}`, snapshot: `s${index}`, state }));
  const run: JobRun = { scheduledAt: time, startedAt: time, tasks };
  return finishRun(view, run);
}

test("a run in which some volume failed is no success, and leaves when the last one was", () => {
  const [monday, tuesday] = ["2026-01-05T00:00:01.000Z", "2026-01-06T00:00:01.000Z"];
  assert.equal(finished({}, ["Failed"], monday).lastSuccessfulTime, undefined);
  const good = finished({}, ["Ready", "Ready"], monday);
  assert.equal(good.lastSuccessfulTime, monday);
  const bad = finished(good, ["Ready", "Failed"], tuesday);
  assert.deepEqual([bad.lastSuccessfulTime, bad.failures, bad.lastRun?.failed], [monday, 1, 1]);
});
