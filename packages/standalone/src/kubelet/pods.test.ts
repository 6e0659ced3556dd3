import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { ConfigMaps, Events, type Pod, Secrets } from "@mooring/store";
import {
  assertNothingLeft,
  eventually,
  logOf,
  logShows,
  NODE,
  Pods,
  phase,
  pod,
  startTestCluster,
  type TestCluster,
} from "./testing/test-cluster.ts";

let cluster: TestCluster;
let folder: string;

before(async () => {
  folder = await mkdtemp("/tmp/mooring-pods-");
  cluster = await startTestCluster(folder);
});

after(async () => {
  await cluster.stop();
  await assertNothingLeft(folder);
  await rm(folder, { recursive: true });
});

type Spec = NonNullable<Pod["spec"]>;
type Container = Spec["containers"][number];

function withContainers(
  name: string,
  containers: (Partial<Container> & { script: string })[],
  spec: Partial<Spec> = {},
): Pod {
  return pod(name, "", {
    containers: containers.map(({ script, ...more }, index) => ({
      name: index === 0 ? "main" : `other${index}`,
      image: "host",
      command: ["sh", "-c", script],
      ...more,
    })),
    ...spec,
  });
}

async function runToEnd(wanted: Pod, end = "Succeeded"): Promise<Pod> {
  await cluster.store.create(Pods, wanted);
  return (await eventually(cluster.store, Pods, wanted.metadata.name, phase(end))) ?? assert.fail();
}

test("environment: literals, references to earlier ones, ConfigMaps, Secrets, the pod's own fields; $(VAR) in arguments", async () => {
  const { store } = cluster;
  await store.create(ConfigMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "settings", namespace: "default" },
    data: { colour: "blue", size: "3" },
  });
  await store.create(Secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "keys", namespace: "default" },
    data: { token: Buffer.from("geheim").toString("base64") },
  });
  await runToEnd(envPod());
  assert.equal(
    await logOf(cluster, "env"),
    `1|12|blue|geheim|blue|3|env|${NODE}|db|250|argument 1 $(NONE) $(A)\n`,
  );
});

function envPod(): Pod {
  const made = withContainers("env", [
    {
      script: 'echo "$A|$B|$C|$TOKEN|$S_colour|$S_size|$NAME|$NODE|$LABEL|$CPU|$0"',
      args: ["argument $(A) $(NONE) $$(A)"],
      envFrom: [
        { prefix: "S_", configMapRef: { name: "settings" } },
        { secretRef: { name: "absent", optional: true } },
      ],
      env: [
        { name: "A", value: "1" },
        { name: "B", value: "$(A)2" },
        { name: "C", valueFrom: { configMapKeyRef: { name: "settings", key: "colour" } } },
        { name: "TOKEN", valueFrom: { secretKeyRef: { name: "keys", key: "token" } } },
        { name: "NAME", valueFrom: { fieldRef: { fieldPath: "metadata.name" } } },
        { name: "NODE", valueFrom: { fieldRef: { fieldPath: "spec.nodeName" } } },
        { name: "LABEL", valueFrom: { fieldRef: { fieldPath: "metadata.labels['app']" } } },
        { name: "CPU", valueFrom: { resourceFieldRef: { resource: "limits.cpu", divisor: "1m" } } },
      ],
      resources: { limits: { cpu: "250m" } },
    },
  ]);
  return { ...made, metadata: { ...made.metadata, labels: { app: "db" } } };
}

test("volumes of API objects, an emptyDir shared by two containers, and a host path", async () => {
  await mkdir(join(folder, "on-host"));
  await writeFile(join(folder, "on-host/file"), "host\n");
  await runToEnd({
    ...withContainers(
      "volumes",
      [
        {
          script:
            "cat /etc/settings/colour; echo; stat -L -c %a /keys/t; cat /all/token /all/who; echo; cat /host/file; touch /all/x || echo ro; while [ ! -e /share/done ]; do sleep 0.02; done; cat /share/done",
          volumeMounts: [
            { name: "settings", mountPath: "/etc/settings" },
            { name: "keys", mountPath: "/keys" },
            { name: "all", mountPath: "/all" },
            { name: "share", mountPath: "/share" },
            { name: "host", mountPath: "/host", readOnly: true },
          ],
        },
        {
          script: "echo shared > /elsewhere/tmp; mv /elsewhere/tmp /elsewhere/done",
          volumeMounts: [{ name: "share", mountPath: "/elsewhere" }],
        },
      ],
      {
        volumes: [
          { name: "settings", configMap: { name: "settings" } },
          {
            name: "keys",
            secret: { secretName: "keys", defaultMode: 0o400, items: [{ key: "token", path: "t" }] },
          },
          {
            name: "all",
            projected: {
              sources: [
                { secret: { name: "keys" } },
                { downwardAPI: { items: [{ path: "who", fieldRef: { fieldPath: "metadata.name" } }] } },
              ],
            },
          },
          { name: "share", emptyDir: { medium: "Memory" } },
          { name: "host", hostPath: { path: join(folder, "on-host"), type: "Directory" } },
        ],
      },
    ),
  });
  assert.match(await logOf(cluster, "volumes"), /^blue\n400\ngeheimvolumes\nhost\n.*ro\nshared\n$/s);
});

test("a container that refers to something missing waits with the reason, and starts when it is there", async () => {
  const { store } = cluster;
  await store.create(
    Pods,
    withContainers("late", [
      { script: "echo $X", env: [{ name: "X", valueFrom: { secretKeyRef: { name: "late", key: "x" } } }] },
    ]),
  );
  await eventually(store, Pods, "late", (object) => {
    const waiting = object?.status?.containerStatuses?.[0]?.state?.waiting;
    return waiting?.reason === "CreateContainerConfigError" && waiting.message === 'secret "late" not found';
  });
  await store.create(Secrets, {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "late", namespace: "default" },
    stringData: {},
    data: { x: "eA==" },
  });
  await eventually(store, Pods, "late", phase("Succeeded"));
});

test("init containers run one after the other, and a sidecar beside the rest, until the rest has ended", async () => {
  const share = { volumeMounts: [{ name: "share", mountPath: "/share" }] };
  const ended = await runToEnd(
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
  assert.equal(await logOf(cluster, "init"), "first\nbeside\nsecond\n");
  const conditions = Object.fromEntries(
    (ended.status?.conditions ?? []).map(({ type, status, reason }) => [type, `${status} ${reason}`]),
  );
  assert.equal(conditions["Initialized"], "True PodCompleted");
  assert.equal(conditions["Ready"], "False PodCompleted");
});

test("an init container that fails ends a pod that is never restarted", async () => {
  const ended = await runToEnd(
    withContainers("init-fails", [{ script: "echo never" }], {
      initContainers: [{ name: "bad", image: "host", command: ["sh", "-c", "exit 3"] }],
    }),
    "Failed",
  );
  assert.equal(ended.status?.initContainerStatuses?.[0]?.state?.terminated?.exitCode, 3);
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated, undefined);
});

test("OnFailure: restarted until it succeeds; the count, the last state and the previous log are there", async () => {
  const ended = await runToEnd(
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
  assert.equal(await logOf(cluster, "retry"), "fine\n");
  assert.equal(await logOf(cluster, "retry", { previous: true }), "broken\n");
});

test("a container that keeps crashing is delayed, with CrashLoopBackOff as the reason", async () => {
  const { store } = cluster;
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
  const { store } = cluster;
  await store.create(
    Pods,
    withContainers("leaving", [
      { script: "trap 'sleep 0.3; exit 0' TERM; echo up; while :; do sleep 0.02; done" },
    ]),
  );
  await eventually(store, Pods, "leaving", phase("Running"));
  // Before that it has no handler for the signal.
  await logShows(cluster, "leaving", /up/);
  const begun = Date.now();
  const marked = await store.delete(Pods, { namespace: "default", name: "leaving" });
  assert.notEqual(marked.metadata.deletionTimestamp, undefined);
  await eventually(store, Pods, "leaving", (object) => object === undefined);
  assert.ok(Date.now() - begun >= 300);
});

test("activeDeadlineSeconds ends a pod as DeadlineExceeded", async () => {
  const ended = await runToEnd(
    withContainers("deadline", [{ script: "sleep 1000" }], { activeDeadlineSeconds: 1 }),
    "Failed",
  );
  assert.equal(ended.status?.reason, "DeadlineExceeded");
});

test("a failing liveness probe restarts a container, a readiness probe decides about Ready", async () => {
  const { store } = cluster;
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
  await runToEnd(
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
  assert.equal(await logOf(cluster, "user"), "1000\n2000\n2000 3000 4000\n1000 3000\n");
  await cluster.store.create(
    Pods,
    withContainers("root", [{ script: "id" }], { securityContext: { runAsNonRoot: true } }),
  );
  await eventually(cluster.store, Pods, "root", (object) =>
    /runAsUser/.test(object?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? ""),
  );
});

test("a subPath is a folder of the volume, made when it is missing, and never leads out of it", async () => {
  await mkdir(join(folder, "tree/inner"), { recursive: true });
  await writeFile(join(folder, "tree/inner/file"), "inner\n");
  await symlink("inner", join(folder, "tree/link"));
  await symlink("/etc", join(folder, "tree/out"));
  const volumes = [{ name: "tree", hostPath: { path: join(folder, "tree") } }];
  await runToEnd(
    withContainers(
      "sub",
      [
        {
          script: "cat /a/file /b/file /c.txt; touch /d/new",
          volumeMounts: [
            { name: "tree", mountPath: "/a", subPath: "inner" },
            { name: "tree", mountPath: "/b", subPath: "link" },
            { name: "tree", mountPath: "/c.txt", subPath: "inner/file" },
            { name: "tree", mountPath: "/d", subPath: "new/deep" },
          ],
        },
      ],
      { volumes },
    ),
  );
  assert.equal(await logOf(cluster, "sub"), "inner\ninner\ninner\n");
  await cluster.store.create(
    Pods,
    withContainers(
      "escape",
      [{ script: "cat /o/passwd", volumeMounts: [{ name: "tree", mountPath: "/o", subPath: "out" }] }],
      { volumes },
    ),
  );
  await eventually(cluster.store, Pods, "escape", (object) =>
    /leaves its volume/.test(object?.status?.containerStatuses?.[0]?.state?.waiting?.message ?? ""),
  );
});

test("a container starts again after it has removed the folder of its subPath, and an event says what became of it", async () => {
  const script =
    "if [ -e /all/again ]; then ls -A /part; exit 0; fi; touch /part/lost /all/again; rm -r /all/part; exit 1";
  const mounts = [
    { name: "data", mountPath: "/all" },
    { name: "data", mountPath: "/part", subPath: "part" },
  ];
  await runToEnd(
    withContainers("removed", [{ script, volumeMounts: mounts }], {
      restartPolicy: "OnFailure",
      volumes: [{ name: "data", emptyDir: {} }],
    }),
  );
  assert.equal(await logOf(cluster, "removed"), "");
  const { items } = await cluster.store.list(Events, { namespace: "default" });
  const said = items.filter(({ reason }) => reason === "SubPathRemoved").map(({ message }) => message);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /subPath "part" of volume "data" was removed .* delete the pod/);
});

test("a container that starts again has the file of its ConfigMap as it is by then, by subPath too", async () => {
  const { store } = cluster;
  const map = await store.create(ConfigMaps, {
    apiVersion: "v1",
    kind: "ConfigMap",
    metadata: { name: "changing", namespace: "default" },
    data: { file: "old" },
  });
  const script = "cat /file; until grep -q new /all/file; do sleep 0.05; done; grep -q new /file";
  const mounts = [
    { name: "map", mountPath: "/all" },
    { name: "map", mountPath: "/file", subPath: "file" },
  ];
  await store.create(
    Pods,
    withContainers("changed", [{ script, volumeMounts: mounts }], {
      restartPolicy: "OnFailure",
      volumes: [{ name: "map", configMap: { name: "changing" } }],
    }),
  );
  await eventually(store, Pods, "changed", phase("Running"));
  await logShows(cluster, "changed", /^old$/);
  await store.update(ConfigMaps, { ...map, data: { file: "new" } });
  await eventually(store, Pods, "changed", phase("Succeeded"));
  assert.equal(await logOf(cluster, "changed"), "new");
});

test("a program that does not exist is reported as the container's end", async () => {
  const ended = await runToEnd(
    pod("missing", "", { containers: [{ name: "main", image: "host", command: ["no-such-program"] }] }),
    "Failed",
  );
  assert.equal(ended.status?.containerStatuses?.[0]?.state?.terminated?.reason, "StartError");
});
