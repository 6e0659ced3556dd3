import assert from "node:assert/strict";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { JOB_UID_LABEL, MOORING_API_VERSION } from "../../../api/names.ts";
import { type RecurringJob, RecurringJobs } from "../../../api/recurring-job.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import { Bench, NODE, until } from "../../../testing/agent.ts";
import { idle, unpublish } from "../testing/filesystem.ts";

const DAY_MS = 86_400_000;

/** Begins half an hour after the day did: a day later, the daily moment is late but not too late. */
class Clock {
  time = Math.floor(Date.now() / DAY_MS) * DAY_MS + DAY_MS / 48;
  readonly now = () => new Date(this.time);
}

/** Lets time pass, and the job read the clock. */
async function pass(bench: Bench, clock: Clock, milliseconds: number): Promise<void> {
  clock.time += milliseconds;
  await mutate(bench.store, RecurringJobs, { name: "nightly" }, (job) => {
    job.metadata.annotations = { ...job.metadata.annotations, "test/now": String(clock.time) };
  });
}

const ran = (bench: Bench, runs: number) =>
  until(
    bench.store,
    RecurringJobs,
    "nightly",
    ({ status }) => status?.runs === runs && status.active === undefined && status.phase === "Waiting",
  );

test("a job copies volumes in use and volumes that nobody uses, through the snapshots' own tickets, and removes only its own old copies", async (t) => {
  covers("LHA-052");
  const clock = new Clock();
  const bench = await Bench.open(t, "xfs", { tickets: true, now: clock.now });
  for (const name of ["v-p-1", "v-p-2"]) {
    await bench.createVolume(name);
    await bench.volume(name, "detached");
  }
  await bench.ask("v-p-1");
  await bench.volume("v-p-1", "attached");
  await bench.createSnapshot("s-p-mine", "v-p-2");
  await bench.snapshot("s-p-mine");
  await idle(bench, "v-p-2");
  const job: RecurringJob = {
    apiVersion: MOORING_API_VERSION,
    kind: "RecurringJob",
    metadata: { name: "nightly" },
    spec: { cron: "@daily", task: "snapshot", retain: 1, groups: ["default"], concurrency: 2 },
  };
  const { metadata } = await bench.store.create(RecurringJobs, job);
  await until(bench.store, RecurringJobs, "nightly", ({ status }) => status?.nextRun !== undefined);

  const seen = bench.ticketsUntil("v-p-2", (a) => Object.keys(a.spec.attachmentTickets ?? {}).length === 1);
  await pass(bench, clock, DAY_MS);
  assert.match((await seen).join(), new RegExp(`snapshot-controller ${NODE}`));
  const first = await ran(bench, 1);
  assert.deepEqual([first.status?.lastRun?.succeeded, first.status?.lastRun?.failed], [2, 0]);
  await idle(bench, "v-p-2");
  await pass(bench, clock, DAY_MS);
  const second = await ran(bench, 2);
  const kept = (second.status?.lastRun?.tasks ?? []).map(({ snapshot }) => snapshot);
  const old = (first.status?.lastRun?.tasks ?? []).map(({ snapshot }) => snapshot);
  for (const name of old) await bench.gone(Snapshots, name);
  const labelSelector = `${JOB_UID_LABEL}=${metadata.uid}`;
  const { items } = await bench.store.list(Snapshots, { labelSelector });
  assert.deepEqual(items.map((s) => s.metadata.name).sort(), [...kept].sort());
  await bench.snapshot("s-p-mine");

  // Snapshots are data: they stay when the job goes.
  await bench.deleted(RecurringJobs, "nightly");
  await bench.snapshot(kept[0] ?? "");
  await unpublish(bench, "v-p-1");
  await idle(bench, "v-p-1");
});

test("a restart in the middle of a run goes on with that run, and makes nothing twice", async (t) => {
  const clock = new Clock();
  const bench = await Bench.open(t, "xfs", { tickets: true, now: clock.now });
  const names = [1, 2, 3, 4, 5, 6].map((n) => `v-p-${n}`);
  for (const name of names) await bench.createVolume(name);
  for (const name of names) await bench.volume(name, "detached");
  const spec = { cron: "@daily", task: "snapshot" as const, retain: 5, groups: ["default"] };
  await bench.store.create(RecurringJobs, {
    apiVersion: MOORING_API_VERSION,
    kind: "RecurringJob",
    metadata: { name: "nightly" },
    spec,
  });
  await until(bench.store, RecurringJobs, "nightly", ({ status }) => status?.nextRun !== undefined);
  await pass(bench, clock, DAY_MS);
  await until(
    bench.store,
    RecurringJobs,
    "nightly",
    ({ status }) => status?.active?.tasks.some((task) => task.state === "Ready") === true,
  );
  await bench.stop();
  await bench.start();
  const { status } = await ran(bench, 1);
  assert.equal(status?.lastRun?.succeeded, 6);
  const { items } = await bench.store.list(Snapshots, {});
  assert.equal(items.length, 6);
  for (const name of names) await idle(bench, name);
});
