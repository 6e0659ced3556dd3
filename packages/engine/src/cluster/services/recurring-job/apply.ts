import { isAlreadyExists, isNotFound, type Outcome } from "@mooring/store";
import { RecurringJobs } from "../../../api/recurring-job.ts";
import { Snapshots } from "../../../api/snapshot.ts";
import type { ServicesContext } from "../context.ts";
import { snapshotFor } from "./snapshots.ts";
import type { JobStep, JobView } from "./view.ts";

/** Makes the one change that a decision asks for. */
export async function applyJobStep(
  context: ServicesContext,
  step: Exclude<JobStep, Outcome>,
  view: JobView,
): Promise<void> {
  const { store, now, signal } = context;
  const { job } = view;
  switch (step.do) {
    case "record":
      await store.updateStatus(RecurringJobs, { ...job, status: step.status }, { signal });
      if (step.what === "run-finished") report(context, view, step.status.lastRun);
      return;
    case "create-snapshot": {
      const volume = view.members.find(({ metadata }) => metadata.name === step.volume);
      const { scheduledAt } = job.status?.active ?? {};
      if (volume === undefined || scheduledAt === undefined) return;
      const snapshot = snapshotFor(job, scheduledAt, volume, now());
      await store.create(Snapshots, snapshot, { signal }).catch((error: unknown) => {
        if (!isAlreadyExists(error)) throw error;
      });
      return;
    }
    case "delete-snapshot":
      await store.delete(Snapshots, { name: step.snapshot }, { signal }).catch((error: unknown) => {
        if (!isNotFound(error)) throw error;
      });
  }
}

function report(
  { events }: ServicesContext,
  { job }: JobView,
  run: NonNullable<typeof job.status>["lastRun"],
): void {
  if (run === undefined || run.failed === 0) return;
  const first = run.tasks.find(({ state }) => state === "Failed");
  const what = `${run.failed} of ${run.tasks.length} volumes failed in the run of ${run.scheduledAt}`;
  events.event(job, "Warning", "RunFailed", `${what}; ${first?.volume}: ${first?.message}`);
}
