import assert from "node:assert/strict";
import { test } from "node:test";
import { type CronJob, defined, type Job } from "@mooring/store";
import { type CronJobView, decide } from "./decide.ts";
import { inTimeZone } from "./schedule.ts";

const NOW = Date.parse("2026-01-15T10:00:30Z");
const minute = (time: string) => Math.floor(Date.parse(`2026-01-15T${time}:00Z`) / 60_000);
type Spec = NonNullable<CronJob["spec"]>;

function cronJob(spec: Partial<Spec>, status: CronJob["status"] = {}): CronJob {
  const template = { spec: { restartPolicy: "Never", containers: [] } };
  return {
    apiVersion: "batch/v1",
    kind: "CronJob",
    metadata: { name: "c", namespace: "n", uid: "cron", creationTimestamp: "2026-01-15T09:59:30Z" },
    spec: { schedule: "* * * * *", timeZone: "UTC", jobTemplate: { spec: { template } }, ...spec },
    status,
  };
}

function job(name: string, end?: "Complete" | "Failed", completionTime?: string): Job {
  const conditions = end === undefined ? [] : [{ type: end, status: "True" }];
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name, namespace: "n", uid: name, creationTimestamp: "2026-01-15T09:00:00Z" },
    status: { conditions, ...defined({ completionTime }) },
  };
}

const view = (of: CronJob, jobs: Job[] = [], ...reported: string[]): CronJobView => ({
  ...{ cronJob: of, jobs, now: NOW, reported },
});

function brief(step: ReturnType<typeof decide>): string {
  switch (step.do) {
    case "create-job":
    case "delete-job":
      return `${step.do} ${step.job.metadata.name}`;
    case "write-status": {
      const { active = [], lastScheduleTime = "-", lastSuccessfulTime = "-" } = step.status;
      return `status [${active.map(({ name }) => name).join()}] ${lastScheduleTime} ${lastSuccessfulTime}`;
    }
    case "report":
      return `report ${step.event.reason}`;
    case "wait":
      return `wait ${step.afterMs}`;
    default:
      return step.do;
  }
}

const ref = (name: string) => ({ apiVersion: "batch/v1", kind: "Job", name, namespace: "n", uid: name });
const due = `c-${minute("10:00")}`;
const running = { active: [ref("c-1")], lastScheduleTime: "2026-01-15T09:59:00Z" };
const old = { lastScheduleTime: "2026-01-15T05:00:00Z" };
const at10 = "2026-01-15T10:00:00Z";

const ahead = { lastScheduleTime: "2031-01-01T00:00:00Z" };

const TABLE: [string, CronJobView, string][] = [
  ["a clock that was years ahead is put right", view(cronJob({}, ahead)), `status [] ${at10} -`],
  ["what is due is made", view(cronJob({})), `create-job ${due}`],
  ["and goes into the status", view(cronJob({}), [job(due)]), `status [${due}] ${at10} -`],
  ["also when it has ended already", view(cronJob({}), [job(due, "Failed")]), `status [] ${at10} -`],
  ["once", view(cronJob({}, { active: [ref(due)], lastScheduleTime: at10 }), [job(due)]), "wait 30000"],
  ["nothing is due", view(cronJob({ schedule: "0 12 * * *" })), "wait 60000"],
  ["nothing while suspended", view(cronJob({ suspend: true })), "done"],
  [
    "the end of a Job is noted",
    view(cronJob({}, running), [job("c-1", "Complete", at10)]),
    `status [] 2026-01-15T09:59:00Z ${at10}`,
  ],
  ["a Job that is gone is forgotten", view(cronJob({}, running)), "status [] 2026-01-15T09:59:00Z -"],
  ["Allow: side by side", view(cronJob({}, running), [job("c-1")]), `create-job ${due}`],
  [
    "Forbid: reported",
    view(cronJob({ concurrencyPolicy: "Forbid" }, running), [job("c-1")]),
    "report JobAlreadyActive",
  ],
  [
    "and waited for",
    view(
      cronJob({ concurrencyPolicy: "Forbid" }, running),
      [job("c-1")],
      `JobAlreadyActive ${Date.parse(at10)}`,
    ),
    "wait 30000",
  ],
  [
    "Replace: the running one goes",
    view(cronJob({ concurrencyPolicy: "Replace" }, running), [job("c-1")]),
    "delete-job c-1",
  ],
  ["too many missed starts are reported", view(cronJob({}, old)), "report TooManyMissedTimes"],
  [
    "and the last one is made up for",
    view(cronJob({}, old), [], `TooManyMissedTimes ${Date.parse(at10)}`),
    `create-job ${due}`,
  ],
  [
    "with a deadline they do not count",
    view(cronJob({ startingDeadlineSeconds: 120 }, old)),
    `create-job ${due}`,
  ],
  [
    "what is too late is not made",
    view(cronJob({ schedule: "55 9 * * *", startingDeadlineSeconds: 60 }, old)),
    "report MissSchedule",
  ],
  [
    "and reported once",
    view(
      cronJob({ schedule: "55 9 * * *", startingDeadlineSeconds: 60 }, old),
      [],
      `MissSchedule ${Date.parse("2026-01-15T09:55:00Z")}`,
    ),
    "wait 60000",
  ],
  [
    "a Job that somebody else made in its name is reported",
    view(cronJob({}, { lastScheduleTime: at10 }), [job("by-hand")]),
    "report UnexpectedJob",
  ],
  [
    "so is one that the status has forgotten",
    view(cronJob({}, { lastScheduleTime: at10 }), [job(due)]),
    "report UnexpectedJob",
  ],
  [
    "once, whatever is reported besides",
    view(
      cronJob({}, { lastScheduleTime: at10 }),
      [job("by-hand")],
      "UnexpectedJob by-hand",
      "JobAlreadyActive 1",
    ),
    "wait 30000",
  ],
  [
    "an end is no surprise",
    view(cronJob({}, { lastScheduleTime: at10 }), [job("by-hand", "Failed")]),
    "wait 30000",
  ],
  [
    "what is late and in time is",
    view(cronJob({ schedule: "55 9 * * *", startingDeadlineSeconds: 600 }, old)),
    `create-job c-${minute("09:55")}`,
  ],
  [
    "the time zone counts",
    view(cronJob({ schedule: "0 11 * * *", timeZone: "Europe/Berlin" }, old)),
    `create-job ${due}`,
  ],
  [
    "old ends go",
    view(cronJob({ successfulJobsHistoryLimit: 1 }, { lastScheduleTime: at10, lastSuccessfulTime: at10 }), [
      job("c-1", "Complete", at10),
      job("c-2", "Complete", at10),
    ]),
    "delete-job c-1",
  ],
  [
    "failures have a limit of their own",
    view(cronJob({}, { lastScheduleTime: at10 }), [job("c-1", "Failed"), job("c-2", "Failed")]),
    "delete-job c-1",
  ],
];
for (const [name, input, expected] of TABLE)
  test(`${name}: ${expected}`, () => assert.equal(brief(decide(input)), expected));

test("a listed Job that is gone is reported as missing, one that has ended as completed", () => {
  const gone = decide(view(cronJob({}, running)));
  assert.ok(gone.do === "write-status");
  assert.deepEqual(gone.events, [
    { type: "Normal", reason: "MissingJob", message: "Active job went missing: c-1" },
  ]);
  const late = decide(view(cronJob({ schedule: "55 9 * * *", startingDeadlineSeconds: 60 }, old)));
  assert.ok(late.do === "report");
  assert.equal(late.event.message, "Missed scheduled time to start a job: Thu, 15 Jan 2026 09:55:00 +0000");
});

test("the Job has the template's labels, its time, and its owner", () => {
  const jobTemplate = { metadata: { labels: { a: "b" }, annotations: { c: "d" } }, spec: { template: {} } };
  const step = decide(view(cronJob({ jobTemplate, timeZone: "America/St_Johns" })));
  assert.ok(step.do === "create-job");
  const { labels, annotations, ownerReferences } = step.job.metadata;
  assert.deepEqual(labels, { a: "b" });
  assert.equal(annotations?.["batch.kubernetes.io/cronjob-scheduled-timestamp"], "2026-01-15T06:30:00-03:30");
  assert.equal(annotations?.["c"], "d");
  assert.equal(ownerReferences?.[0]?.uid, "cron");
});

test("times are written in their zone, and else in UTC", () => {
  assert.equal(inTimeZone(NOW, undefined), "2026-01-15T10:00:30Z");
  assert.equal(inTimeZone(NOW, "Europe/Berlin"), "2026-01-15T11:00:30+01:00");
  assert.equal(inTimeZone(NOW, "UTC"), "2026-01-15T10:00:30Z");
});
