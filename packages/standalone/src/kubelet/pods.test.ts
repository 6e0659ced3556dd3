import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, type Pod } from "@mooring/store";
import { eventually as until } from "@mooring/store/testing";
import { ClusterOfFile, withContainers } from "./testing/cluster-of-file.ts";
import { eventually, logOf, logShows, NODE, Pods, phase, pod } from "./testing/test-cluster.ts";

const of = ClusterOfFile.open();

test("init containers run one after the other, and a sidecar beside the rest, until the rest has ended", async () => {
  const share = { volumeMounts: [{ name: "share", mountPath: "/share" }] };
  const ended = await of.runToEnd(
    withContainers("init", [{ script: "cat /share/order; sleep 0.1", ...share }], {
      volumes: [{ name: "share", emptyDir: {} }],
      initContainers: [
        {
          name: "first",
          image: "host",
          command: ["sh", "-c", "sleep 0.2; echo first >> /share/order"],
          ...share,
        },
        {
          name: "beside",
          image: "host",
          restartPolicy: "Always",
          command: [
            "sh",
            "-c",
            "trap 'exit 0' TERM; echo beside >> /share/order; while :; do sleep 0.02; done",
          ],
          ...share,
        },
        {
          name: "second",
          image: "host",
          command: [
            "sh",
            "-c",
            "until grep -q beside /share/order; do sleep 0.02; done; echo second >> /share/order",
          ],
          ...share,
        },
      ],
    }),
  );
  assert.equal(await logOf(of.cluster, "init"), "first\nbeside\nsecond\n");
  const conditions = Object.fromEntries(
    (ended.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
  assert.equal(conditions["Initialized"], "True PodCompleted");
  assert.equal(conditions["Ready"], "False PodCompleted");
});

test("an init container that fails ends a pod that is never restarted", async () => {
  const ended = await of.runToEnd(
    withContainers("init-fails", [{ script: "echo never" }], {
      initContainers: [{ name: "bad", image: "host", command: ["sh", "-c", "exit 3"] }],
    }),
    "Failed",
  );
  assert.equal(ended.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated, undefined);
});

test("OnFailure: restarted until it succeeds; the count, the last state and the previous log are there", async () => {
  const ended = await of.runToEnd(
    withContainers(
      "retry",
      [
        {
          script: "if [ -e /share/once ]; then echo fine; exit 0; fi; touch /share/once; echo broken; exit 9",
          volumeMounts: [{ name: "share", mountPath: "/share" }],
        },
      ],
      { restartPolicy: "OnFailure", volumes: [{ name: "share", emptyDir: {} }] },
    ),
  );
  const status = ended.status?.containerStatuses?.[0];
  assert.equal(status?.restartCount, 1);
  assert.equal(status?.state?.terminated?.reason, "Completed");
  assert.equal(status?.lastState?.terminated?.exitCode, 9);
  assert.equal(await logOf(of.cluster, "retry"), "fine\n");
  assert.equal(await logOf(of.cluster, "retry", { previous: true }), "broken\n");
});

test("a container that keeps crashing is delayed, with CrashLoopBackOff as the reason", async () => {
  const { store } = of.cluster;
  await store.create(Pods, withContainers("crash", [{ script: "exit 1" }], { restartPolicy: "Always" }));
  const seen = await eventually(
    store,
    Pods,
    "crash",
    (object) => object?.status?.containerStatuses?.[0]?.state?.waiting?.reason === "CrashLoopBackOff",
  );
  assert.equal(seen?.status?.phase, "Running");
  assert.equal(seen?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 1);
  await store.delete(Pods, { namespace: "default", name: "crash" });
  await eventually(store, Pods, "crash", (object) => object === undefined);
});

test("deletion sends SIGTERM, waits out the grace period, and the object goes last", async () => {
  const { store } = of.cluster;
  await store.create(
    Pods,
    withContainers("leaving", [
      { script: "trap 'sleep 0.3; exit 0' TERM; echo up; while :; do sleep 0.02; done" },
    ]),
  );
  await eventually(store, Pods, "leaving", phase("Running"));
  // Before that it has no handler for the signal.
  await logShows(of.cluster, "leaving", /up/);
  const begun = Date.now();
  const marked = await store.delete(Pods, { namespace: "default", name: "leaving" });
  assert.notEqual(marked.metadata.deletionTimestamp, undefined);
  await eventually(store, Pods, "leaving", (object) => object === undefined);
  assert.ok(Date.now() - begun >= 300);
});

test("activeDeadlineSeconds ends a pod as DeadlineExceeded", async () => {
  const ended = await of.runToEnd(
    withContainers("deadline", [{ script: "sleep 1000" }], { activeDeadlineSeconds: 1 }),
    "Failed",
  );
  assert.equal(ended.status?.reason, "DeadlineExceeded");
});

test("a failing liveness probe restarts a container, a readiness probe decides about Ready", async () => {
  const { store } = of.cluster;
  await store.create(
    Pods,
    withContainers(
      "probed",
      [
        {
          script:
            "touch /tmp/ready; if [ -e /share/sick ]; then sleep 1000; fi; touch /share/sick; sleep 1000",
          volumeMounts: [{ name: "share", mountPath: "/share" }],
          readinessProbe: { exec: { command: ["test", "-e", "/tmp/ready"] }, periodSeconds: 1 },
          livenessProbe: {
            exec: { command: ["sh", "-c", "[ ! -e /share/sick ] || [ -e /share/healed ]"] },
            periodSeconds: 1,
            failureThreshold: 1,
          },
        },
      ],
      { restartPolicy: "Always", volumes: [{ name: "share", emptyDir: {} }] },
    ),
  );
  const seen = await eventually(
    store,
    Pods,
    "probed",
    (object) => (object?.status?.containerStatuses?.[0]?.restartCount ?? 0) > 0,
  );
  assert.equal(seen?.status?.containerStatuses?.[0]?.lastState?.terminated?.exitCode, 143);
  const events = (await store.list(Events, { namespace: "default" })).items.filter(
    ({ involvedObject }) => involvedObject.name === "probed",
  );
  assert.ok(
    events.some(({ reason }) => reason === "Unhealthy"),
    JSON.stringify(events),
  );
  await store.delete(Pods, { namespace: "default", name: "probed" }, { gracePeriodSeconds: 1 });
  await eventually(store, Pods, "probed", (object) => object === undefined);
});

test("users and groups: runAsUser, fsGroup and runAsNonRoot", async () => {
  await of.runToEnd(
    withContainers(
      "user",
      [
        {
          script: "id -u; id -g; id -G; echo x > /share/f; stat -c '%u %g' /share/f",
          volumeMounts: [{ name: "share", mountPath: "/share" }],
        },
      ],
      {
        securityContext: { runAsUser: 1000, runAsGroup: 2000, fsGroup: 3000, supplementalGroups: [4000] },
        volumes: [{ name: "share", emptyDir: {} }],
      },
    ),
  );
  assert.equal(await logOf(of.cluster, "user"), "1000\n2000\n2000 3000 4000\n1000 3000\n");
  await of.cluster.store.create(
    Pods,
    withContainers("root", [{ script: "id" }], { securityContext: { runAsNonRoot: true } }),
  );
  await eventually(of.cluster.store, Pods, "root", (object) =>
    /runAsUser/.test(object?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? ""),
  );
});

test("a program that does not exist is reported as the container's end", async () => {
  const ended = await of.runToEnd(
    pod("missing", "", { containers: [{ name: "main", image: "host", command: ["no-such-program"] }] }),
    "Failed",
  );
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.reason, "StartError");
});

test("a pod that names its node goes past the scheduler, and not past the labels that it asks for", async () => {
  const { store } = of.cluster;
  const asking = (name: string, spec: object) => ({
    ...pod(name, "exit 0"),
    spec: { ...pod(name, "exit 0").spec, nodeName: NODE, ...spec } as NonNullable<Pod["spec"]>,
  });
  const terms = [{ matchExpressions: [{ key: "disk", operator: "In", values: ["fast"] }] }];
  const required = { requiredDuringSchedulingIgnoredDuringExecution: { nodeSelectorTerms: terms } };
  await store.create(Pods, asking("selects", { nodeSelector: { disk: "fast" } }));
  await store.create(Pods, asking("prefers", { affinity: { nodeAffinity: required } }));
  for (const name of ["selects", "prefers"]) {
    const seen = await eventually(store, Pods, name, (object) => {
      const waiting = object?.status?.containerStatuses?.[0]?.state?.waiting;
      return waiting?.reason === "CreateContainerConfigError";
    });
    assert.match(
      seen?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? "",
      /^cannot be honoured: spec\.nodeName: node node-1 didn't match Pod's node affinity\/selector$/,
    );
    await store.delete(Pods, { namespace: "default", name });
  }
  await of.runToEnd(asking("fits", { nodeSelector: { "kubernetes.io/os": "linux" } }));
});

test("a pod that names its node and asks for more than there is fails, and takes nothing from others", async () => {
  const { store } = of.cluster;
  const asking = (name: string, cpu: string, spec: object) => {
    const containers = [{ name: "main", image: "host", command: ["true"], resources: { requests: { cpu } } }];
    return pod(name, "", { containers, ...spec } as Partial<Pod["spec"]>);
  };
  const failed = await of.runToEnd(asking("hungry", "1000", { nodeName: NODE }), "Failed");
  assert.equal(failed.status?.reason, "OutOfcpu");
  assert.match(
    failed.status?.message ?? "",
    /^Pod was rejected: .*: cpu, requested: 1000000, used: \d+, capacity: \d+$/,
  );
  await until("its event", async () =>
    (await store.list(Events)).items.some(({ reason }) => reason === "OutOfcpu"),
  );
  await of.runToEnd(asking("modest", "100m", {}));
});
