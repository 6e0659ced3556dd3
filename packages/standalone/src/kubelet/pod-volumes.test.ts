import assert from "node:assert/strict";
import { mkdir, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMaps, Events, type Pod, Secrets } from "@mooring/store";
import { ClusterOfFile, withContainers } from "./testing/cluster-of-file.ts";
import { eventually, logOf, logShows, NODE, Pods, phase } from "./testing/test-cluster.ts";

const of = ClusterOfFile.open();

test("environment: literals, references to earlier ones, ConfigMaps, Secrets, the pod's own fields; $(VAR) in arguments", async () => {
  const { store } = of.cluster;
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
  await of.runToEnd(envPod());
  assert.equal(
    await logOf(of.cluster, "env"),
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
  await mkdir(join(of.folder, "on-host"));
  await writeFile(join(of.folder, "on-host/file"), "host\n");
  await of.runToEnd({
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
          { name: "host", hostPath: { path: join(of.folder, "on-host"), type: "Directory" } },
        ],
      },
    ),
  });
  assert.match(await logOf(of.cluster, "volumes"), /^blue\n400\ngeheimvolumes\nhost\n.*ro\nshared\n$/s);
});

test("a container that refers to something missing waits with the reason, and starts when it is there", async () => {
  const { store } = of.cluster;
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

test("a subPath is a folder of the volume, made when it is missing, and never leads out of it", async () => {
  await mkdir(join(of.folder, "tree/inner"), { recursive: true });
  await writeFile(join(of.folder, "tree/inner/file"), "inner\n");
  await symlink("inner", join(of.folder, "tree/link"));
  await symlink("/etc", join(of.folder, "tree/out"));
  const volumes = [{ name: "tree", hostPath: { path: join(of.folder, "tree") } }];
  await of.runToEnd(
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
  assert.equal(await logOf(of.cluster, "sub"), "inner\ninner\ninner\n");
  await of.cluster.store.create(
    Pods,
    withContainers(
      "escape",
      [{ script: "cat /o/passwd", volumeMounts: [{ name: "tree", mountPath: "/o", subPath: "out" }] }],
      { volumes },
    ),
  );
  await eventually(of.cluster.store, Pods, "escape", (object) =>
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
  await of.runToEnd(
    withContainers("removed", [{ script, volumeMounts: mounts }], {
      restartPolicy: "OnFailure",
      volumes: [{ name: "data", emptyDir: {} }],
    }),
  );
  assert.equal(await logOf(of.cluster, "removed"), "");
  const { items } = await of.cluster.store.list(Events, { namespace: "default" });
  const said = items.filter(({ reason }) => reason === "SubPathRemoved").map(({ message }) => message);
  assert.equal(said.length, 1);
  assert.match(said[0] ?? "", /subPath "part" of volume "data" was removed .* delete the pod/);
});

test("a container that starts again has the file of its ConfigMap as it is by then, by subPath too", async () => {
  const { store } = of.cluster;
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
  await logShows(of.cluster, "changed", /^old$/);
  await store.update(ConfigMaps, { ...map, data: { file: "new" } });
  await eventually(store, Pods, "changed", phase("Succeeded"));
  assert.equal(await logOf(of.cluster, "changed"), "new");
});
