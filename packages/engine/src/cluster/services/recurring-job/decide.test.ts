import assert from "node:assert/strict";
import { test } from "node:test";
import { isOutcome } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import type { RecurringJob, RecurringJobSpec } from "../../../api/recurring-job.ts";
import type { Snapshot } from "../../../api/snapshot.ts";
import type { Volume } from "../../../api/volume.ts";
import { volumeObject } from "../../../testing/agent.ts";
import { decide } from "./decide.ts";
import { membersOf } from "./members.ts";
import { scheduleOf } from "./schedule.ts";
import { snapshotFor } from "./snapshots.ts";
import type { JobStep, JobView } from "./view.ts";

const START = Date.parse("2026-01-01T00:30:00Z");

function jobWith(spec: Partial<RecurringJobSpec> = {}): RecurringJob {
  return {
    apiVersion: "v",
    kind: "RecurringJob",
    metadata: { name: "nightly", uid: "u-1", creationTimestamp: new Date(START).toISOString() },
    spec: { cron: "0 * * * *", task: "snapshot", retain: 2, ...spec },
  };
}

function volumeNamed(name: string, labels: Record<string, string> = {}): Volume {
  const volume = volumeObject(name);
  volume.metadata.labels = labels;
  volume.status = { state: "detached", size: 4096 };
  return volume;
}

/** A cluster with a job, in which steps and time happen one after the other. */
class Cluster {
  job: RecurringJob;
  volumes: Volume[];
  snapshots: Snapshot[] = [];
  now = START;
  /** Moments that a run was begun for. */
  begun: string[] = [];
  inUse = new Set<string>();

  constructor(job: RecurringJob, volumes: Volume[]) {
    this.job = job;
    this.volumes = volumes;
  }

  view(): JobView {
    const now = new Date(this.now);
    const since = new Date(this.job.status?.lastScheduleTime ?? START);
    const members = membersOf(this.job, this.volumes);
    const { job, snapshots, inUse } = this;
    return { job, members, snapshots, inUse, schedule: scheduleOf(job.spec, since, now), now };
  }

  step(): JobStep {
    const step = decide(this.view());
    if (step.do === "record") {
      this.job = { ...this.job, status: step.status };
      if (step.what === "run-begun") this.begun.push(step.status.active?.scheduledAt ?? "");
    }
    if (step.do === "create-snapshot") {
      const volume = this.volumes.find(({ metadata }) => metadata.name === step.volume);
      const { scheduledAt = "" } = this.job.status?.active ?? {};
      if (volume === undefined) throw new Error("no volume");
      const made = snapshotFor(this.job, scheduledAt, volume, new Date(this.now));
      assert.ok(!this.snapshots.some(({ metadata }) => metadata.name === made.metadata.name), "made twice");
      this.snapshots.push(made);
    }
    if (step.do === "delete-snapshot") {
      this.snapshots = this.snapshots.filter(({ metadata }) => metadata.name !== step.snapshot);
    }
    return step;
  }

  rest(): void {
    for (let steps = 0; !isOutcome(this.step()); steps++) assert.ok(steps < 500, "no rest");
  }

  /** What agents do. */
  snapshot(): void {
    for (const snapshot of this.snapshots) {
      snapshot.status ??= { readyToUse: true, creationTime: new Date(this.now).toISOString() };
    }
  }

  /** Until the clock says so, with everything done that there is to do on the way. */
  until(time: string): void {
    for (this.rest(); this.job.status?.active !== undefined; this.rest()) this.snapshot();
    this.now = Date.parse(time);
    for (this.rest(); this.job.status?.active !== undefined; this.rest()) this.snapshot();
  }
}

test("a run makes one snapshot per volume, keeps the newest, and reports what it did", () => {
  const cluster = new Cluster(jobWith({ groups: ["default"] }), [volumeNamed("v-a"), volumeNamed("v-b")]);
  for (const hour of ["01", "02", "03"]) cluster.until(`2026-01-01T${hour}:00:00Z`);
  assert.equal(cluster.snapshots.length, 4);
  const { lastRun, runs, failures, skipped, phase, nextRun } = cluster.job.status ?? {};
  assert.deepEqual(
    [lastRun?.scheduledAt, lastRun?.succeeded, lastRun?.failed, runs, failures, skipped, phase, nextRun],
    ["2026-01-01T03:00:00.000Z", 2, 0, 3, 0, 0, "Waiting", "2026-01-01T04:00:00.000Z"],
  );
});

test("no more snapshots than the concurrency are under way at once", () => {
  const names = ["v-a", "v-b", "v-c", "v-d", "v-e"];
  const cluster = new Cluster(
    jobWith({ groups: ["default"], concurrency: 2 }),
    names.map((name) => volumeNamed(name)),
  );
  cluster.now = Date.parse("2026-01-01T01:00:00Z");
  for (const made of [2, 4, 5]) {
    cluster.rest();
    assert.equal(cluster.snapshots.length, made);
    cluster.snapshot();
  }
  cluster.rest();
  assert.equal(cluster.job.status?.lastRun?.succeeded, 5);
});

/** Policy, away until; begun, skipped. */
const AWAY: [Partial<RecurringJobSpec>, string, string[], number][] = [
  [{}, "2026-01-01T05:30:00Z", ["2026-01-01T05:00:00.000Z"], 4],
  [{ missedRuns: "Skip" }, "2026-01-01T05:30:00Z", [], 5],
  [{ missedRuns: "Skip" }, "2026-01-01T05:00:30Z", ["2026-01-01T05:00:00.000Z"], 4],
  [{ startingDeadlineSeconds: 60 }, "2026-01-01T05:30:00Z", [], 5],
  [{ suspend: true }, "2026-01-01T05:00:00Z", [], 5],
];
for (const [spec, time, begun, skipped] of AWAY) {
  test(`away until ${time} with ${JSON.stringify(spec)}: ${begun.length} run, ${skipped} skipped`, () => {
    const cluster = new Cluster(jobWith({ ...spec, groups: ["default"] }), [volumeNamed("v-a")]);
    cluster.now = Date.parse(time);
    cluster.rest();
    cluster.snapshot();
    cluster.rest();
    assert.deepEqual([cluster.begun, cluster.job.status?.skipped ?? 0], [begun, skipped]);
  });
}

test("only what the job made is removed, only beyond what it keeps, and nothing that is being copied", () => {
  const cluster = new Cluster(jobWith({ groups: ["default"], retain: 1 }), [volumeNamed("v-a")]);
  cluster.until("2026-01-01T01:00:00Z");
  const [first] = cluster.snapshots;
  cluster.inUse.add(first?.metadata.name ?? "");
  cluster.until("2026-01-01T02:00:00Z");
  assert.equal(cluster.snapshots.length, 2);
  cluster.inUse.clear();
  cluster.rest();
  assert.equal(cluster.snapshots.includes(first as Snapshot), false);
});

test("a snapshot that is never made fails at its deadline, is taken away, and does not push out a good one", () => {
  const cluster = new Cluster(jobWith({ groups: ["default"], retain: 1, deadlineSeconds: 300 }), [
    volumeNamed("v-a"),
  ]);
  cluster.until("2026-01-01T01:00:00Z");
  const [good] = cluster.snapshots;
  cluster.now = Date.parse("2026-01-01T02:00:00Z");
  cluster.rest();
  assert.equal(cluster.snapshots.length, 2);
  cluster.now += 300_000;
  cluster.rest();
  assert.deepEqual(cluster.snapshots, [good]);
  const { lastRun, failures } = cluster.job.status ?? {};
  assert.deepEqual([lastRun?.failed, failures], [1, 1]);
  assert.match(lastRun?.tasks[0]?.message ?? "", /not made in time/);
});

test("who takes part: by job, by group, by selector, and by the default group without any label", () => {
  const volumes = [
    volumeNamed("v-a", { "recurring-job.storage.mooring.dev/nightly": "enabled" }),
    volumeNamed("v-b", { "recurring-job-group.storage.mooring.dev/gold": "enabled" }),
    volumeNamed("v-c", { app: "db" }),
    volumeNamed("v-d"),
    volumeNamed("v-e", { "recurring-job.storage.mooring.dev/other": "enabled" }),
  ];
  const named = (spec: Partial<RecurringJobSpec>) =>
    membersOf(jobWith(spec), volumes).map(({ metadata }) => metadata.name);
  assert.deepEqual(named({}), ["v-a"]);
  assert.deepEqual(named({ groups: ["gold"] }), ["v-a", "v-b"]);
  assert.deepEqual(named({ volumeSelector: { matchLabels: { app: "db" } } }), ["v-a", "v-c"]);
  assert.deepEqual(named({ volumeSelector: {} }), ["v-a"]);
  assert.deepEqual(named({ groups: ["default"] }), ["v-a", "v-c", "v-d"]);
});

test("whatever is killed, lost and late: no moment runs twice, no more is kept than asked, and runs end", () => {
  const act = fc.constantFrom("step", "snapshot", "lose-status", "hour", "minutes", "operator-deletes");
  fc.assert(
    fc.property(fc.array(act, { maxLength: 120 }), fc.integer({ min: 1, max: 3 }), (acts, retain) => {
      const cluster = new Cluster(jobWith({ groups: ["default"], retain, concurrency: 2 }), [
        volumeNamed("v-a"),
        volumeNamed("v-b"),
        volumeNamed("v-c"),
      ]);
      for (const what of acts) {
        if (what === "step") cluster.step();
        else if (what === "snapshot") cluster.snapshot();
        // A kill after the object was made, before that is recorded: the record is as it was.
        else if (what === "lose-status") {
          const { job } = cluster;
          const step = cluster.step();
          if (step.do === "create-snapshot") cluster.job = job;
        } else if (what === "hour") cluster.now += 3_600_000;
        else if (what === "minutes") cluster.now += 120_000;
        else cluster.snapshots.shift();
      }
      for (cluster.rest(); cluster.job.status?.active !== undefined; cluster.rest()) cluster.snapshot();
      cluster.rest();
      assert.equal(new Set(cluster.begun).size, cluster.begun.length);
      for (const name of ["v-a", "v-b", "v-c"]) {
        const kept = cluster.snapshots.filter(({ spec }) => spec.volume === name);
        assert.ok(kept.length <= retain && kept.every(({ status }) => status?.readyToUse === true));
      }
    }),
    { numRuns: howMany({ everyday: 150, full: 500, deep: 5_000 }) },
  );
});

test("a clock that was years ahead and is put right does not stop the job for years; put back a little, nothing runs twice", () => {
  const cluster = new Cluster(jobWith(), []);
  const settle = () => {
    for (let n = 0; n < 20 && !isOutcome(cluster.step()); n += 1);
  };
  cluster.now = Date.parse("2028-06-01T00:10:00Z");
  settle();
  cluster.now = START + 5 * 60_000;
  settle();
  assert.equal(cluster.job.status?.lastScheduleTime, "2026-01-01T00:00:00.000Z");
  cluster.now = Date.parse("2026-01-01T01:00:00.5Z");
  settle();
  assert.deepEqual(cluster.begun.slice(1), ["2026-01-01T01:00:00.000Z"]);
  cluster.now -= 1_000;
  settle();
  cluster.now += 2_000;
  settle();
  assert.equal(cluster.begun.length, 2);
});

test("a schedule that cannot be read is reported, and another one after it as well", () => {
  const cluster = new Cluster(jobWith({ cron: "61 * * * *" }), []);
  const message = () => cluster.job.status?.conditions?.[0]?.message ?? "";
  cluster.step();
  assert.match(message(), /61/);
  cluster.job = { ...cluster.job, spec: { ...cluster.job.spec, cron: "0 25 * * *" } };
  cluster.step();
  assert.match(message(), /25/);
  assert.doesNotMatch(message(), /61/);
  assert.equal(cluster.step().do, "done");
});
