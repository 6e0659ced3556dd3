import assert from "node:assert/strict";
import { test } from "node:test";
import { defined, type Job } from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { decide, type JobStep } from "./decide.ts";
import { parseIndexes } from "./indexes.ts";
import type { JobPod } from "./job-pod.ts";

/** A pod as it is, as the controller has last seen it, and what became of it. */
interface ModelPod {
  real: JobPod;
  seen: JobPod;
  gone: boolean;
  goneSeen: boolean;
  wasDeleted: boolean;
}

interface PodEvent {
  do: "succeed" | "fail" | "delete" | "stop" | "show";
  pod: number;
}
type Event = PodEvent | { do: "step" } | { do: "suspend" };

const event: fc.Arbitrary<Event> = fc.oneof(
  { weight: 4, arbitrary: fc.constant<Event>({ do: "step" }) },
  { weight: 1, arbitrary: fc.constant<Event>({ do: "suspend" }) },
  {
    weight: 6,
    arbitrary: fc.record({
      do: fc.constantFrom(
        "succeed" as const,
        "fail" as const,
        "delete" as const,
        "stop" as const,
        "show" as const,
      ),
      pod: fc.nat({ max: 11 }),
    }),
  },
);

/** A Job, its pods, and a controller that knows its own writes at once and those of others later. */
class Model {
  job: Job;
  readonly pods: ModelPod[] = [];
  now = 1_000;
  /** How often each UID was put into the status. */
  readonly recorded = new Map<string, number>();

  constructor(spec: NonNullable<Job["spec"]>) {
    const metadata = { name: "j", namespace: "n", uid: "job" };
    this.job = { apiVersion: "batch/v1", kind: "Job", metadata, spec, status: {} };
  }

  happen(event: Event): void {
    this.now += 1_000;
    if (event.do === "step") return void this.step();
    if (event.do === "suspend") {
      this.job = {
        ...this.job,
        spec: { ...this.job.spec, suspend: this.job.spec?.suspend !== true } as never,
      };
      return;
    }
    const pod = this.pods[event.pod % Math.max(1, this.pods.length)];
    if (pod !== undefined) this.#change(pod, event.do);
  }

  #change(pod: ModelPod, what: PodEvent["do"]): void {
    const { state } = pod.real;
    const runs = state === "active" || state === "terminating";
    if (what === "succeed" && runs) pod.real = { ...pod.real, state: "succeeded", endedMs: this.now };
    if (what === "fail" && runs) pod.real = { ...pod.real, state: "failed", endedMs: this.now };
    if (what === "delete" && state === "active") {
      pod.real = { ...pod.real, state: "terminating", endedMs: this.now };
      pod.wasDeleted = true;
    }
    if (what === "delete" && (state === "succeeded" || state === "failed")) pod.wasDeleted = true;
    // The kubelet is done with it.
    if (what === "stop" && state === "terminating") pod.real = { ...pod.real, state: "abandoned" };
    if (what === "show") this.#show(pod);
    this.#collect(pod);
  }

  #show(pod: ModelPod): void {
    pod.seen = pod.real;
    pod.goneSeen = pod.gone;
  }

  /** What is to go goes when no finalizer keeps it. */
  #collect(pod: ModelPod): void {
    const over = pod.real.state !== "active" && pod.real.state !== "terminating";
    if (pod.wasDeleted && over && !pod.real.tracked) pod.gone = true;
  }

  step(): boolean {
    const pods = this.pods.filter(({ goneSeen }) => !goneSeen).map(({ seen }) => seen);
    const backoff = { baseMs: 1, maxMs: 1 };
    const step = decide({ job: this.job, pods, orphans: [], adoptable: [], now: this.now, backoff });
    if (step.do === "done" || step.do === "wait" || step.do === "fail") return false;
    this.#apply(step);
    return true;
  }

  #apply(step: JobStep): void {
    if (step.do === "write-status") {
      const { succeeded = [], failed = [] } = this.job.status?.uncountedTerminatedPods ?? {};
      const next = step.status.uncountedTerminatedPods ?? {};
      const known = new Set([...succeeded, ...failed]);
      for (const uid of [...(next.succeeded ?? []), ...(next.failed ?? [])])
        if (!known.has(uid)) this.recorded.set(uid, (this.recorded.get(uid) ?? 0) + 1);
      this.job = { ...this.job, status: step.status };
    } else if (step.do === "create-pods") {
      for (const index of step.indexes) this.#create(index);
    } else if (step.do === "release-pods") {
      for (const { uid } of step.pods) this.#own(uid, (pod) => ({ ...pod, tracked: false }));
    } else if (step.do === "delete-pods") {
      for (const { uid } of step.pods) {
        const pod = this.pods.find(({ real }) => real.uid === uid);
        if (pod !== undefined) this.#change(pod, "delete");
        this.#own(uid, (each) => each);
      }
    }
  }

  #create(index: number | undefined): void {
    const uid = `p${this.pods.length}`;
    const made = { key: { namespace: "n", name: uid }, uid, owner: "job", tracked: true, ready: false };
    const real: JobPod = {
      ...{ ...made, placed: true, restarts: 0, createdMs: this.now, state: "active" as const },
      ...defined({ index }),
    };
    this.pods.push({ real, seen: real, gone: false, goneSeen: false, wasDeleted: false });
  }

  /** A write shows the pod as it is. */
  #own(uid: string, change: (pod: JobPod) => JobPod): void {
    const pod = this.pods.find(({ real }) => real.uid === uid);
    if (pod === undefined) return;
    if (!pod.gone) pod.real = change(pod.real);
    this.#collect(pod);
    this.#show(pod);
  }

  /** Everybody sees everything, pods that were asked to stop have, and the controller has done what it has to do. */
  settle(): void {
    for (let round = 0; round < 100; round += 1) {
      this.now += 1_000;
      for (const pod of this.pods) {
        this.#change(pod, "stop");
        this.#show(pod);
      }
      if (!this.step()) return;
    }
    assert.fail("the controller never comes to rest");
  }
}

const options = fc.record({
  parallelism: fc.integer({ min: 1, max: 3 }),
  completions: fc.option(fc.integer({ min: 1, max: 4 }), { nil: undefined }),
  backoffLimit: fc.integer({ min: 0, max: 5 }),
  podReplacementPolicy: fc.constantFrom("Failed", "TerminatingOrFailed"),
});

function specOf(chosen: { completions?: number | undefined }, isIndexed: boolean): NonNullable<Job["spec"]> {
  const { completions, ...rest } = chosen;
  const template = { spec: { restartPolicy: "Never", containers: [] } };
  const completionMode = isIndexed ? "Indexed" : "NonIndexed";
  const count = completions ?? (isIndexed ? 2 : undefined);
  return { ...rest, template, completionMode, ...defined({ completions: count }) };
}

test("each pod of a Job is counted once, whatever happens in whatever order", () => {
  fc.assert(
    fc.property(options, fc.boolean(), fc.array(event, { maxLength: 60 }), (chosen, isIndexed, events) => {
      const model = new Model(specOf(chosen, isIndexed));
      for (const each of events) model.happen(each);
      model.settle();
      const { status = {} } = model.job;
      for (const [uid, times] of model.recorded) assert.equal(times, 1, `${uid} is recorded more than once`);
      assert.equal(status.uncountedTerminatedPods, undefined, "something is never counted");
      const ended = model.pods.filter(({ real }) => real.state !== "active");
      assert.ok(
        ended.every(({ real }) => !real.tracked),
        "a pod that has ended is kept",
      );
      const succeeded = ended.filter(({ real }) => real.state === "succeeded");
      if (!isIndexed) {
        assert.equal((status.succeeded ?? 0) + (status.failed ?? 0), ended.length);
        // A pod that was asked to stop and then succeeded may be counted either way, and once.
        const free = succeeded.filter(({ wasDeleted }) => !wasDeleted);
        assert.ok((status.succeeded ?? 0) >= free.length && (status.succeeded ?? 0) <= succeeded.length);
        return;
      }
      const completed = parseIndexes(status.completedIndexes, 100);
      assert.equal(status.succeeded ?? 0, completed.size);
      const indexes = new Set(succeeded.map(({ real }) => real.index ?? -1));
      assert.ok(
        [...completed].every((index) => indexes.has(index)),
        "an index is done that no pod did",
      );
      assert.ok((status.failed ?? 0) <= ended.length - completed.size);
    }),
    { numRuns: howMany({ everyday: 500, full: 3_000, deep: 100_000 }) },
  );
});
