import assert from "node:assert/strict";
import { test } from "node:test";
import type { Outcome, Pod } from "@mooring/store";
import fc from "fast-check";
import type { ContainerStatus } from "../../runtime/index.ts";
import { waitBeforeRestart } from "./back-off.ts";
import { decidePod, decideStep, isRunning, type PodStep } from "./decide.ts";
import { expandVariables } from "./expand-variables.ts";
import { type ContainerView, outcomeOf, type PodView, rolesOf } from "./pod-view.ts";
import { podStatus } from "./status.ts";

const START = Date.parse("2026-01-01T00:00:00Z");

/** A machine that does what a step asks for, with containers whose ends are drawn. */
interface World {
  pod: Pod;
  attempts: ContainerStatus[];
  volumes: boolean;
  onDisk: boolean;
  now: number;
  gone: boolean;
}

function worldOf(restartPolicy: string, inits: number, apps: number): World {
  const container = (name: string) => ({ name, image: "host", command: ["x"] });
  const pod: Pod = {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "ns", uid: "u" },
    spec: {
      restartPolicy,
      initContainers: Array.from({ length: inits }, (_, i) => container(`i${i}`)),
      containers: Array.from({ length: apps }, (_, i) => container(`a${i}`)),
    },
    status: {},
  };
  return { pod, attempts: [], volumes: false, onDisk: false, now: START, gone: false };
}

function viewOf(world: World): PodView {
  const containers = rolesOf(world.pod).map(({ spec, role }): ContainerView => {
    const own = world.attempts.filter(({ name }) => name === spec.name).sort((a, b) => b.attempt - a.attempt);
    return { spec, role, latest: own[0], previous: own[1], probes: { started: true, ready: true } };
  });
  const { pod, volumes, onDisk, now } = world;
  return { pod, containers, volumesReady: volumes, volumesInUse: volumes, onDisk, now };
}

function end(world: World, status: ContainerStatus, code: number): void {
  status.state = "exited";
  status.exit = {
    code,
    reason: code === 0 ? "Completed" : "Error",
    finishedAt: new Date(world.now).toISOString(),
  };
}

function checked(step: PodStep | Outcome, view: PodView): void {
  const running = view.containers.filter(isRunning);
  if (step.do === "start") {
    assert.ok(view.volumesReady, "nothing starts without its volumes");
    assert.ok(!running.some(({ spec }) => spec.name === step.container), "one attempt at a time");
    assert.equal(outcomeOf(view), undefined, "what has ended stays so");
    const role = view.containers.find(({ spec }) => spec.name === step.container)?.role;
    const inits = view.containers.filter((each) => each.role === "init");
    if (role === "app" && !view.containers.some((each) => each.role === "app" && each.latest !== undefined)) {
      assert.ok(
        inits.every(({ latest }) => latest?.exit?.code === 0),
        "init containers come first",
      );
    }
    if (role === "init") assert.equal(running.length, 0, "one init container at a time");
  }
  if (["release-volumes", "remove-folder", "remove-containers", "delete-object"].includes(step.do)) {
    assert.equal(running.length, 0, "nothing is taken away from what runs");
  }
  if (step.do === "remove-folder") assert.ok(!view.volumesInUse);
  if (step.do === "delete-object") assert.ok(!view.volumesInUse && !view.onDisk);
}

function carryOut(step: PodStep | Outcome, world: World): void {
  if (step.do === "mount-volumes") world.volumes = true;
  if (step.do === "mount-volumes") world.onDisk = true;
  if (step.do === "start") {
    const createdAt = new Date(world.now).toISOString();
    const pod = { uid: "u", namespace: "ns", name: "p" };
    world.attempts.push({
      id: `u_${step.container}_${step.attempt}`,
      pod,
      name: step.container,
      attempt: step.attempt,
      state: "running",
      createdAt,
      startedAt: createdAt,
    });
  }
  if (step.do === "stop") {
    for (const status of world.attempts) {
      if (step.containers.includes(status.name) && status.state === "running") end(world, status, 143);
    }
  }
  if (step.do === "release-volumes") world.volumes = false;
  if (step.do === "remove-folder") world.onDisk = false;
  if (step.do === "remove-containers") world.attempts = [];
  if (step.do === "delete-object") world.gone = true;
  if (step.do === "wait") world.now += step.afterMs ?? 1000;
}

test("whatever its containers do: a pod keeps the order, reports what Kubernetes would, and a deleted one goes", () => {
  const policy = fc.constantFrom("Always", "OnFailure", "Never");
  const code = fc.constantFrom(0, 0, 1, 137);
  fc.assert(
    fc.property(
      policy,
      fc.nat(2),
      fc.integer({ min: 1, max: 2 }),
      fc.array(code, { maxLength: 12 }),
      fc.nat(40),
      (...[restartPolicy, inits, apps, codes, deletedAt]) => {
        const world = worldOf(restartPolicy, inits, apps);
        const ends = [...codes];
        for (let round = 0; round < 80 && !world.gone; round += 1) {
          if (round === deletedAt) world.pod.metadata.deletionTimestamp = new Date(world.now).toISOString();
          const view = viewOf(world);
          const before = world.pod.status?.phase;
          const status = podStatus(view, "10.0.0.1");
          world.pod = { ...world.pod, status };
          const after = status.phase;
          if (before === "Succeeded" || before === "Failed") assert.equal(after, before, "an end is final");
          if (after === "Succeeded")
            assert.ok(status.containerStatuses?.every(({ state }) => state?.terminated?.exitCode === 0));
          const ready = status.conditions?.find(({ type }) => type === "Ready")?.status === "True";
          if (ready) assert.equal(after, "Running");
          const step = decidePod(view);
          checked(step, view);
          carryOut(step, world);
          const running = world.attempts.find(({ state }) => state === "running");
          if (step.do === "wait" && running !== undefined && ends.length > 0)
            end(world, running, ends.shift() ?? 0);
        }
        assert.ok(world.gone, `not gone: ${JSON.stringify(decidePod(viewOf(world)))}`);
        assert.deepEqual([world.volumes, world.onDisk, world.attempts], [false, false, []]);
      },
    ),
  );
});

test("restarts wait longer and longer, up to five minutes, and begin anew after ten good minutes", () => {
  const ended = (attempt: number, ranMs: number): ContainerStatus => ({
    ...{
      id: "x",
      pod: { uid: "u", namespace: "n", name: "p" },
      name: "c",
      attempt,
      state: "exited" as const,
    },
    createdAt: new Date(START).toISOString(),
    startedAt: new Date(START).toISOString(),
    exit: { code: 1, reason: "Error", finishedAt: new Date(START + ranMs).toISOString() },
  });
  const waits = [0, 1, 2, 3, 6, 20].map(
    (attempt) => waitBeforeRestart(ended(attempt, 1000), START + 1000) / 1000,
  );
  assert.deepEqual(waits, [0, 10, 20, 40, 300, 300]);
  assert.equal(waitBeforeRestart(ended(5, 600_000), START + 600_000), 0);
  // The clock was set back by an hour after it.
  assert.equal(waitBeforeRestart(ended(5, 1000), START - 3_600_000), 0);
});

test("references in arguments are replaced, escaped ones are not, unknown ones stay", () => {
  const variables = { A: "1", B: "$(A)" };
  const rows: [string, string][] = [
    ["$(A)", "1"],
    ["x$(A)y$(B)", "x1y$(A)"],
    ["$$(A)", "$(A)"],
    ["$$$(A)", "$1"],
    ["$(NO) $A $", "$(NO) $A $"],
    ["$(constructor)", "$(constructor)"],
  ];
  for (const [text, expected] of rows) assert.equal(expandVariables(text, variables), expected);
});

test("a container that can start does not wait until the status of before is written", () => {
  const world = worldOf("Always", 0, 1);
  const due = { mount: false, status: true, probes: false, releasing: false };
  assert.equal(decideStep(viewOf(world), due).do, "report-status");
  world.volumes = true;
  assert.deepEqual(decideStep(viewOf(world), due), { do: "start", container: "a0", attempt: 0 });
});
