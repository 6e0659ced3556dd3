import assert from "node:assert/strict";
import { test } from "node:test";
import type { Job } from "@mooring/store";
import { decide } from "./decide.ts";
import { formatIndexes, freeIndexes, parseIndexes } from "./indexes.ts";
import type { JobPod } from "./job-pod.ts";
import type { JobView } from "./view.ts";

const NOW = Date.parse("2026-01-01T01:00:00Z");
const STARTED = "2026-01-01T00:59:00Z";
type Spec = NonNullable<Job["spec"]>;

function job(spec: Partial<Spec>, status: Job["status"] = {}, metadata = {}): Job {
  const template = { spec: { restartPolicy: "Never", containers: [] } };
  return {
    apiVersion: "batch/v1",
    kind: "Job",
    metadata: { name: "j", namespace: "n", uid: "job", ...metadata },
    spec: { parallelism: 1, backoffLimit: 6, podReplacementPolicy: "TerminatingOrFailed", template, ...spec },
    status,
  };
}

function pod(uid: string, fields: Partial<JobPod> = {}): JobPod {
  const made = { key: { namespace: "n", name: uid }, uid, owner: "job", tracked: true, ready: false };
  return { ...made, placed: true, restarts: 0, createdMs: NOW - 60_000, state: "active", ...fields };
}

const ended = (uid: string, state: JobPod["state"], fields: Partial<JobPod> = {}) =>
  pod(uid, { state, endedMs: NOW - 1_000, ...fields });

const view = (of: Job | undefined, pods: JobPod[] = [], orphans: JobPod[] = []): JobView => ({
  ...{ job: of, pods, orphans, adoptable: [], now: NOW },
  backoff: { baseMs: 10_000, maxMs: 360_000 },
});

/** The view after all statuses that are due have been written. */
function settled(start: JobView): { view: JobView; step: ReturnType<typeof decide>; events: string[] } {
  let at = start;
  const events: string[] = [];
  for (let writes = 0; writes < 5; writes += 1) {
    const step = decide(at);
    if (step.do !== "write-status" || at.job === undefined) return { view: at, step, events };
    events.push(...step.events.map(({ reason }) => reason));
    at = { ...at, job: { ...at.job, status: step.status } };
  }
  assert.fail("the status never comes to rest");
}

function brief(step: ReturnType<typeof decide>): string {
  switch (step.do) {
    case "create-pods":
      return `create ${step.indexes.map((index) => index ?? "*").join()}`;
    case "adopt-pods":
    case "delete-pods":
    case "release-pods":
      return `${step.do.split("-")[0]} ${step.pods.map(({ uid }) => uid).join()}`;
    case "wait":
      return step.afterMs === undefined ? "wait" : `wait ${step.afterMs}`;
    default:
      return step.do;
  }
}

const indexed = (spec: Partial<Spec>, status: Job["status"] = {}) =>
  job({ completionMode: "Indexed", ...spec }, { startTime: STARTED, ...status });
const begun = { startTime: STARTED };
const condition = (type: string, reason = "", at = STARTED) => ({
  conditions: [{ type, status: "True", reason, lastTransitionTime: at }],
});

const TABLE: [string, JobView, string][] = [
  ["a new Job gets its pods", view(job({ completions: 3, parallelism: 2 })), "create *,*"],
  [
    "no more than are left to do",
    view(job({ completions: 3, parallelism: 2 }, { succeeded: 2 })),
    "create *",
  ],
  ["those that run count", view(job({ completions: 3, parallelism: 2 }), [pod("a")]), "create *"],
  ["enough run", view(job({ completions: 3, parallelism: 2 }), [pod("a"), pod("b")]), "wait"],
  ["fewer are wanted", view(job({ completions: 3 }), [pod("a"), pod("b", { placed: false })]), "delete b"],
  [
    "pods that it selects become its own before others are made",
    { ...view(job({ completions: 2, parallelism: 2 }, begun)), adoptable: [pod("a", { tracked: false })] },
    "adopt a",
  ],
  [
    "a Job that has ended adopts nothing",
    { ...view(job({ completions: 1 }, condition("Complete"))), adoptable: [pod("a", { tracked: false })] },
    "done",
  ],
  ["no parallelism, no pods", view(job({ completions: 3, parallelism: 0 }), [pod("a")]), "delete a"],
  ["a pod that has ended is released", view(job({ completions: 2 }), [ended("a", "succeeded")]), "release a"],
  ["a failure is released", view(job({ completions: 1 }), [ended("a", "failed")]), "release a"],
  [
    "after a failure the next pod waits",
    view(job({ completions: 1 }, { failed: 1 }), [ended("a", "failed", { tracked: false })]),
    "wait 9000",
  ],
  [
    "after two failures twice as long",
    view(job({ completions: 1 }, { failed: 2 }), [
      ended("a", "failed", { tracked: false, endedMs: NOW - 30_000 }),
      ended("b", "failed", { tracked: false }),
    ]),
    "wait 19000",
  ],
  [
    "a success in between makes it one",
    view(job({ completions: 2 }, { failed: 1, succeeded: 1 }), [
      ended("a", "failed", { tracked: false, endedMs: NOW - 30_000 }),
      ended("b", "succeeded", { tracked: false }),
    ]),
    "create *",
  ],
  [
    "work queue: one success and nobody else begins",
    view(job({ parallelism: 2 }, { succeeded: 1 }), [pod("a")]),
    "wait",
  ],
  [
    "a leaving pod is a failure: its successor waits as after any",
    view(job({ completions: 1 }), [ended("a", "terminating", { tracked: false })]),
    "wait 9000",
  ],
  [
    "or when it has failed, where the policy says so",
    view(job({ completions: 1, podReplacementPolicy: "Failed" }), [pod("a", { state: "terminating" })]),
    "wait",
  ],
  ["suspended: no pods", view(job({ completions: 1, suspend: true })), "wait"],
  ["suspended: pods go", view(job({ completions: 1, suspend: true }), [pod("a")]), "delete a"],
  [
    "a deadline is waited for",
    view(job({ completions: 1, activeDeadlineSeconds: 100 }, begun), [pod("a")]),
    "wait 40000",
  ],
  [
    "a deadline that has passed ends the pods",
    view(job({ completions: 1, activeDeadlineSeconds: 10 }, begun), [pod("a")]),
    "delete a",
  ],
  [
    "too many failures end the pods",
    view(job({ completions: 1, backoffLimit: 1 }, { failed: 2 }), [pod("a")]),
    "delete a",
  ],
  [
    "restarts count where containers are restarted",
    view(
      job({
        completions: 1,
        backoffLimit: 2,
        template: { spec: { restartPolicy: "OnFailure", containers: [] } },
      }),
      [pod("a", { restarts: 2 })],
    ),
    "delete a",
  ],
  ["all indexes", view(indexed({ completions: 3, parallelism: 5 })), "create 0,1,2"],
  [
    "the free ones",
    view(indexed({ completions: 5, parallelism: 3 }, { completedIndexes: "0,2" }), [pod("a", { index: 1 })]),
    "create 3,4",
  ],
  [
    "one of two with the same index goes",
    view(indexed({ completions: 2, parallelism: 2 }), [
      pod("a", { index: 0 }),
      pod("b", { index: 0, createdMs: NOW }),
    ]),
    "delete b",
  ],
  [
    "one of an index that is no more goes",
    view(indexed({ completions: 1 }), [pod("a", { index: 4 })]),
    "delete a",
  ],
  [
    "a success of an index is released",
    view(indexed({ completions: 2 }), [ended("a", "succeeded", { index: 1 })]),
    "release a",
  ],
  [
    "a deleted Job releases its pods",
    view(job({}, {}, { deletionTimestamp: STARTED }), [pod("a")]),
    "release a",
  ],
  ["a Job that is gone releases its pods", view(undefined, [], [pod("a")]), "release a"],
  ["the end stays for ever without a time to live", view(job({}, condition("Complete"))), "done"],
  ["or as long as it says", view(job({ ttlSecondsAfterFinished: 90 }, condition("Complete"))), "wait 30000"],
  ["and then goes", view(job({ ttlSecondsAfterFinished: 60 }, condition("Failed"))), "delete-job"],
];
for (const [name, input, expected] of TABLE)
  test(`${name}: ${expected}`, () => assert.equal(brief(settled(input).step), expected));

function finalOf(start: JobView) {
  const { view: last, events } = settled(start);
  const conditions = (last.job?.status?.conditions ?? []).map(({ type, reason }) => `${type} ${reason}`);
  return { conditions, events, status: last.job?.status };
}

test("the end: first decided, then, when all pods are counted, final", () => {
  const spec = { completions: 1 };
  const counted = finalOf(
    view(job(spec, { ...begun, succeeded: 1 }), [ended("a", "succeeded", { tracked: false })]),
  );
  assert.deepEqual(counted.conditions, [
    "SuccessCriteriaMet CompletionsReached",
    "Complete CompletionsReached",
  ]);
  assert.deepEqual(counted.events, ["Completed"]);
  assert.equal(counted.status?.completionTime, "2026-01-01T01:00:00Z");
  const uncounted = finalOf(view(job(spec, begun), [ended("a", "succeeded")]));
  assert.deepEqual(uncounted.conditions, ["SuccessCriteriaMet CompletionsReached"]);
});

test("a failure names its reason in both conditions and in the event", () => {
  const limit = finalOf(view(job({ completions: 1, backoffLimit: 0 }, { ...begun, failed: 1 })));
  assert.deepEqual(limit.conditions, ["FailureTarget BackoffLimitExceeded", "Failed BackoffLimitExceeded"]);
  assert.deepEqual(limit.events, ["BackoffLimitExceeded"]);
  const late = finalOf(view(job({ completions: 1, activeDeadlineSeconds: 1 }, begun)));
  assert.deepEqual(late.conditions, ["FailureTarget DeadlineExceeded", "Failed DeadlineExceeded"]);
});

test("a Job of no completions is complete, one whose last pod still runs is not", () => {
  assert.equal(finalOf(view(job({ completions: 0 }))).conditions.at(-1), "Complete CompletionsReached");
  const waiting = finalOf(view(job({ parallelism: 2 }, { ...begun, succeeded: 1 }), [pod("a")]));
  assert.deepEqual(waiting.conditions, []);
});

test("suspending and resuming are reported, and the time of a deadline begins anew", () => {
  const suspended = finalOf(view(job({ completions: 1, suspend: true }, begun)));
  assert.deepEqual([suspended.conditions, suspended.events], [["Suspended JobSuspended"], ["Suspended"]]);
  const resumed = finalOf(view(job({ completions: 1 }, suspended.status)));
  assert.deepEqual([resumed.conditions, resumed.events], [["Suspended JobResumed"], ["Resumed"]]);
  assert.equal(resumed.status?.startTime, "2026-01-01T01:00:00Z");
});

test("indexes are written as ranges and read again", () => {
  const text = "0-2,5,7,8";
  assert.equal(formatIndexes(parseIndexes(text, 100)), "0-2,5,7,8");
  assert.deepEqual([...parseIndexes(text, 6)], [0, 1, 2, 5]);
  assert.deepEqual(freeIndexes(3, 100, parseIndexes(text, 100)), [3, 4, 6]);
});
