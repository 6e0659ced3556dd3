import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { parseAllDocuments } from "yaml";
import { rbdPoolOption } from "../../packages/cli/src/options/rbd-pool-option.ts";
import { CONTROLLERS } from "../../packages/sidecars/src/controllers.ts";
import { CHART, MANIFESTS, renderChart, renderManifests } from "../support/chart.ts";

interface Made {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: Record<string, unknown>;
}

interface PodSpec {
  securityContext?: object;
  containers: {
    args?: string[];
    securityContext?: { privileged?: boolean };
    volumeMounts?: { name: string; mountPath?: string; mountPropagation?: string; readOnly?: boolean }[];
  }[];
  volumes?: {
    name: string;
    hostPath?: { path: string };
    projected?: { defaultMode: number; sources: unknown };
  }[];
}

async function made(...more: string[]): Promise<Made[]> {
  return parseAllDocuments(await renderChart(...more))
    .map((document) => document.toJS() as Made | null)
    .filter((object) => object !== null);
}

const names = (objects: Made[]) => objects.map(({ kind, metadata }) => `${kind}/${metadata.name}`).sort();

test("deploy/manifests is what the chart renders", async () => {
  const wanted = await renderManifests();
  const there = (await readdir(MANIFESTS)).sort();
  assert.deepEqual(there, [...wanted.keys()].sort(), "run: npm run manifests");
  for (const name of there) {
    const text = await readFile(join(MANIFESTS, name), "utf8");
    assert.equal(text, wanted.get(name), `${name} is another one: npm run manifests`);
  }
});

test("values that cannot be meant are refused by their name", async () => {
  const refused: [string, RegExp][] = [
    ["node.pool.type=zfs", /node\/pool\/type|node\.pool\.type/],
    ["node.kubeletDir=var/lib/kubelet", /kubeletDir/],
    ["controler.replicas=3", /controler/],
    ["engine.nodeGrace=soon", /nodeGrace/],
    ["driver.address=tcp://10.0.0.1", /address/],
    ["storageClasses[0].parameters.pools=fast", /pools/],
    ["storageClasses[0].parameters.imageFeatures=layering journaling", /imageFeatures/],
    // The processes know no milliseconds.
    ["engine.leaseDuration=4500ms", /leaseDuration/],
    ["controller.disruptionBudget.minAvailable=most", /minAvailable/],
    ["controller.disruptionBudget.minAvailable=-1", /minAvailable/],
    ["node.maxUnavailable=200%", /maxUnavailable/],
    ["node.stateDir=/var/lib/a #b", /stateDir/],
    ["node.trustedNetworks={10.0.0.0/33}", /trustedNetworks/],
    ["node.trustedNetworks={10.0.0.256/24}", /trustedNetworks/],
    ["image.repository=Some Registry/mooring", /repository/],
    // The controller's container has no other folder of the pod than that.
    ["driver.address=unix:///var/lib/driver/csi.sock", /driver.*address/],
  ];
  for (const [value, what] of refused)
    await assert.rejects(renderChart("--set", value), (error: Error) => {
      assert.match(error.message, what, value);
      return true;
    });
});

test("values that contradict each other are refused by both names, before a pod fails for them", async () => {
  const refused: [string[], RegExp][] = [
    [["engine.nodeGrace=29s"], /nodeGrace.*at least 30s.*leaseDuration \(15s\)/],
    [["engine.nodeGrace=1m", "engine.leaseDuration=31s"], /nodeGrace.*at least 62s/],
    [["engine.leaseDuration=3s"], /leaseDuration.*4s/],
    [["controller.disruptionBudget.minAvailable=2"], /minAvailable.*2 replicas/],
    [["controller.disruptionBudget.minAvailable=100%"], /minAvailable.*2 replicas/],
    // Kubernetes rounds up.
    [["controller.disruptionBudget.minAvailable=51%"], /minAvailable.*2 replicas/],
    [["metrics.enabled=false", "metrics.serviceMonitor.enabled=true"], /serviceMonitor.*metrics.enabled/],
    [["engine.enabled=false"], /driver.containers.*driver.address/],
    [["driver.secretNamespaces={shop}"], /secretNamespaces.*engine.enabled=false/],
    [["driver.controllers={provision}"], /controllers.*engine.enabled=false/],
    [["node.stateDir=/var/lib/kubelet/mooring/"], /stateDir.*kubeletDir/],
    [["node.kubeletDir=/var/lib/mooring"], /stateDir.*kubeletDir/],
    [["node.stateDir=/."], /stateDir.*kubeletDir/],
    [["node.sharedPools[0].name=fast,node.sharedPools[0].path=/var/lib/mooring/"], /stateDir.*fast/],
    [["node.sharedPools[0].name=fast,node.sharedPools[0].path=/var/lib"], /stateDir.*fast/],
    [["node.sharedPools[0].name=fast,node.sharedPools[0].path=/dev"], /fast.*\/dev/],
    [[0, 1].map((i) => `node.sharedPools[${i}].name=p${i},node.sharedPools[${i}].path=/mnt`), /p0.*p1/],
    [["engine.enabled=false", "driver.containers[0].name=controller"], /driver.containers.*controller/],
    [
      ["engine.enabled=false", "driver.containers[0].name=vendor", "driver.volumes[0].name=csi"],
      /driver.volumes.*csi/,
    ],
    [["node.maxUnavailable=0"], /maxUnavailable/],
    [["node.maxUnavailable=0%"], /maxUnavailable/],
    [
      [0, 1].map((i) => `node.sharedPools[${i}].name=fast,node.sharedPools[${i}].path=/mnt/${i}`),
      /fast.*twice/,
    ],
    [[0, 1].map((i) => `storageClasses[${i}].name=fast`), /storageClasses.*fast.*twice/],
    [[0, 1].map((i) => `snapshotClasses[${i}].name=s${i},snapshotClasses[${i}].default=true`), /s0 and s1/],
  ];
  for (const [values, what] of refused)
    await assert.rejects(renderChart(...values.flatMap((value) => ["--set", value])), (error: Error) => {
      assert.match(error.message, what, values.join(" "));
      return true;
    });
});

test("what is at the edge of a contradiction is none", async () => {
  const taken = [
    ["engine.nodeGrace=2m", "engine.leaseDuration=1m"],
    ["engine.leaseDuration=4s"],
    ["controller.replicas=1", "controller.disruptionBudget.minAvailable=1"],
    ["controller.disruptionBudget.minAvailable=50%"],
    ["controller.disruptionBudget.minAvailable=66%", "controller.replicas=3"],
    ["controller.disruptionBudget.minAvailable=2", "controller.disruptionBudget.enabled=false"],
    [
      "engine.enabled=false",
      "driver.address=unix:///csi/vendor/csi.sock",
      "driver.containers[0].name=vendor",
    ],
    ["node.kubeletDir=/var/lib/mooring-kubelet"],
    ["node.kubeletDir=/var/snap/microk8s/common/var/lib/kubelet"],
    ["node.maxUnavailable=10%"],
    ["node.stateDir=/run/mooring.d/", "node.trustedNetworks={10.0.0.0/8,192.168.255.0/24}"],
    [0, 1].flatMap((i) => [`node.sharedPools[${i}].name=p${i}`, `node.sharedPools[${i}].path=/mnt/p${i}`]),
    ["image.repository=registry.example:5000/storage/mooring"],
    ["storageClasses[0].name=fast", "storageClasses[0].default=true", "storageClasses[1].name=slow"],
  ];
  for (const values of taken) await renderChart(...values.flatMap((value) => ["--set", value]));
});

test("an image by its digest with its pull secrets is of all pods, a place of those that it is given for", async () => {
  const digest = `sha256:${"ab".repeat(32)}`;
  const affinity = { nodeAffinity: { preferredDuringSchedulingIgnoredDuringExecution: [] } };
  const objects = await made(
    ...["--set", "image.repository=registry.example:5000/storage/mooring", "--set", `image.digest=${digest}`],
    ...[
      "--set-json",
      'image.pullSecrets=[{"name":"registry"}]',
      "--set-string",
      "node.nodeSelector.disks=true",
    ],
    ...["--set-json", `node.affinity=${JSON.stringify(affinity)}`, "--set", "node.priorityClassName=storage"],
  );
  const pods = new Map(
    objects.flatMap(({ kind, spec }) => {
      const template = spec?.["template"] as { spec: Record<string, unknown> } | undefined;
      return template === undefined ? [] : [[kind, template.spec] as const];
    }),
  );
  for (const [kind, { containers, imagePullSecrets }] of pods) {
    const [{ image }] = containers as [{ image: string }];
    assert.equal(image, `registry.example:5000/storage/mooring@${digest}`, kind);
    assert.deepEqual(imagePullSecrets, [{ name: "registry" }], kind);
  }
  const [node, controller] = [pods.get("DaemonSet"), pods.get("Deployment")];
  assert.deepEqual([node?.["nodeSelector"], controller?.["nodeSelector"]], [{ disks: "true" }, undefined]);
  assert.deepEqual([node?.["affinity"], controller?.["affinity"]], [affinity, undefined]);
  assert.deepEqual(
    [node?.["priorityClassName"], controller?.["priorityClassName"]],
    ["storage", "system-cluster-critical"],
  );
  await assert.rejects(renderChart("--set", "image.digest=latest"), /digest/);
});

test("our own volumes and the control planes of other drivers have no object in common", async () => {
  const beside = ["--set", "engine.enabled=false", "--set", "driver.secretNamespaces={shop}"];
  const containers = ["--set-json", 'driver.containers=[{"name":"driver","image":"vendor/driver:1"}]'];
  const releases = [
    await made(),
    await made(...beside, ...containers, "--namespace", "one"),
    await made(...beside, ...containers, "--namespace", "two"),
  ];
  const all = releases
    .flat()
    .map(({ kind, metadata: { name, namespace = "" } }) => `${kind} ${namespace}/${name}`);
  assert.deepEqual(
    all.filter((name, i) => all.indexOf(name) !== i),
    [],
  );
});

test("without the engine the chart is the control plane around a driver, with nothing of Mooring's volumes", async () => {
  const objects = await made(
    ...["--set", "engine.enabled=false", "--set", "driver.secretNamespaces={shop}"],
    ...["--set-json", 'driver.containers=[{"name":"driver","image":"vendor/driver:1"}]'],
  );
  assert.deepEqual(names(objects), [
    "ClusterRole/mooring-controller-mooring",
    "ClusterRoleBinding/mooring-controller-mooring",
    "Deployment/mooring-controller",
    "PodDisruptionBudget/mooring-controller",
    "Role/mooring-controller",
    "Role/mooring-secrets-mooring",
    "RoleBinding/mooring-controller",
    "RoleBinding/mooring-secrets-mooring",
    "Service/mooring-metrics",
    "ServiceAccount/mooring-controller",
  ]);
  const text = JSON.stringify(objects.find(({ kind }) => kind === "Deployment"));
  assert.match(text, /"--csi-address=unix:\/\/\/csi\/csi.sock"/);
  assert.doesNotMatch(text, /--engine/);
  assert.match(text, /vendor\/driver:1/);
});

test("every part that can be chosen is made, and the controllers that can be named are known", async () => {
  const chosen = [
    ...["metrics.serviceMonitor.enabled=true", "networkPolicy.enabled=true", "controller.replicas=1"],
    ...["node.kubeletDir=/var/lib/k0s/kubelet", "controller.priorityClassName=", "node.pool.type=directory"],
  ].flatMap((each) => ["--set", each]);
  const objects = await made(
    ...chosen,
    ...["--set-json", 'node.sharedPools=[{"name":"fast","path":"/mnt/fast"}]'],
    ...["--set-json", 'node.tolerations=[{"key":"disks","operator":"Exists"}]'],
  );
  const all = names(objects);
  for (const name of ["ServiceMonitor/mooring", "NetworkPolicy/mooring-controller"])
    assert.ok(all.includes(name), name);
  assert.ok(
    !all.some((name) => name.startsWith("PodDisruptionBudget")),
    "of one replica nothing can be kept",
  );
  const node = JSON.stringify(objects.find(({ kind }) => kind === "DaemonSet"));
  for (const part of [
    '"--kubelet-dir=/var/lib/k0s/kubelet"',
    '"--shared-pool=fast=/mnt/fast"',
    '"tolerations":[{"key":"disks"',
  ])
    assert.ok(node.includes(part), part);
  assert.doesNotMatch(node, /--pool-size/);
  const values = await readFile(join(CHART, "values.schema.json"), "utf8");
  const { pattern } = JSON.parse(values).properties.driver.properties.controllers.items;
  assert.deepEqual(
    Object.keys(CONTROLLERS).filter((name) => !new RegExp(pattern).test(name)),
    [],
  );
});

test("our CSIDriver lets pods that are not root write: their fsGroup counts whatever the PersistentVolume has", async () => {
  const driver = (await made()).find(({ kind }) => kind === "CSIDriver");
  assert.deepEqual(driver?.spec, {
    attachRequired: true,
    podInfoOnMount: false,
    fsGroupPolicy: "File",
    storageCapacity: true,
    requiresRepublish: false,
    seLinuxMount: false,
    volumeLifecycleModes: ["Persistent"],
  });
});

test("only the node's process may mount, and its machine sees what it mounts", async () => {
  covers("CSI-337", "K8S-089");
  const pods = (await made()).flatMap(({ kind, spec }) => {
    const template = spec?.["template"] as { spec: PodSpec } | undefined;
    return template === undefined ? [] : [{ kind, ...template.spec }];
  });
  for (const { kind, containers, volumes = [] } of pods) {
    const [{ securityContext, volumeMounts = [] } = {}] = containers;
    const kubelet = volumes.find(({ hostPath }) => hostPath?.path === "/var/lib/kubelet");
    const mount = volumeMounts.find(({ name }) => name === kubelet?.name);
    const isNode = kind === "DaemonSet";
    assert.equal(securityContext?.privileged ?? false, isNode, kind);
    assert.equal(mount?.mountPropagation, isNode ? "Bidirectional" : undefined, kind);
  }
  assert.deepEqual(pods.map(({ kind }) => kind).sort(), ["DaemonSet", "Deployment"]);
});

test("the controller's container is not root, and neither container writes to its image", async () => {
  const objects = await made();
  const [controller, node] = ["Deployment", "DaemonSet"].map((wanted) => {
    const template = objects.find(({ kind }) => kind === wanted)?.spec?.["template"] as { spec: PodSpec };
    return { pod: template.spec.securityContext, container: template.spec.containers[0]?.securityContext };
  });
  assert.deepEqual(controller, {
    pod: {
      ...{ runAsNonRoot: true, runAsUser: 65532, runAsGroup: 65532 },
      seccompProfile: { type: "RuntimeDefault" },
    },
    container: {
      ...{ allowPrivilegeEscalation: false, readOnlyRootFilesystem: true },
      capabilities: { drop: ["ALL"] },
    },
  });
  assert.deepEqual(node?.container, { privileged: true, readOnlyRootFilesystem: true });
});

const CEPH = {
  ...{ name: "ceph", monitors: ["10.0.0.1", "[v2:10.0.0.2:3300,v1:10.0.0.2:6789]"] },
  ...{ user: "mooring", pool: "images", secret: { name: "ceph-key", key: "userKey" } },
};
const cephPools = (...pools: object[]): [string, string] => [
  "--set-json",
  `node.cephPools=${JSON.stringify(pools)}`,
];

test("a Ceph pool has its settings in arguments, its cluster in a ConfigMap and its key in a Secret, on nodes only", async () => {
  const more = { name: "team-b", namespace: "b", flatten: 4, conf: "ms_client_mode = secure\n" };
  const objects = await made(...cephPools(CEPH, { ...CEPH, ...more, secret: { name: "b-key" } }));
  const find = (kind: string, name: string) =>
    objects.find((object) => object.kind === kind && object.metadata.name === name) ?? assert.fail(name);
  const { data } = find("ConfigMap", "mooring-ceph") as unknown as { data: Record<string, string> };
  assert.deepEqual(data, {
    "ceph.conf": "[global]\nmon_host = 10.0.0.1,[v2:10.0.0.2:3300,v1:10.0.0.2:6789]\n",
    "team-b.conf":
      "[global]\nmon_host = 10.0.0.1,[v2:10.0.0.2:3300,v1:10.0.0.2:6789]\nms_client_mode = secure\n",
  });
  const { template } = find("DaemonSet", "mooring-node").spec as { template: { spec: PodSpec } };
  const { containers, volumes = [] } = template.spec;
  const [{ args = [], volumeMounts = [] } = {}] = containers;
  const option = rbdPoolOption();
  const pools = args
    .flatMap((arg) => (arg.startsWith("--rbd-pool=") ? [arg.slice("--rbd-pool=".length)] : []))
    .flatMap((text) => option.parseArg?.(text, []) as { name: string; path: string; rbd: object }[]);
  const folder = "/etc/mooring/ceph";
  const rbd = { user: "mooring", pool: "images" };
  assert.deepEqual(
    pools.map(({ name, path, rbd }) => ({ name, path, rbd })),
    [
      { name: "ceph", path: `${folder}/ceph/ceph.conf`, rbd: { ...rbd, keyring: `${folder}/ceph/keyring` } },
      {
        ...{ name: "team-b", path: `${folder}/team-b/ceph.conf` },
        rbd: { ...rbd, namespace: "b", keyring: `${folder}/team-b/keyring`, flattenDepth: 4 },
      },
    ],
  );
  for (const [name, secret, key] of [
    ["ceph", "ceph-key", "userKey"],
    ["team-b", "b-key", "keyring"],
  ]) {
    const mount = volumeMounts.find(({ mountPath }) => mountPath === `${folder}/${name}`);
    assert.equal(mount?.readOnly, true, name);
    assert.deepEqual(volumes.find((volume) => volume.name === mount?.name)?.projected, {
      defaultMode: 0o400,
      sources: [
        { configMap: { name: "mooring-ceph", items: [{ key: `${name}.conf`, path: "ceph.conf" }] } },
        { secret: { name: secret, items: [{ key, path: "keyring" }], optional: true } },
      ],
    });
  }
  assert.ok(!JSON.stringify(find("Deployment", "mooring-controller")).includes("ceph"));
  const rules = JSON.stringify(objects.filter(({ kind }) => kind.endsWith("Role")));
  assert.doesNotMatch(rules, /"secrets"/, "the kubelet mounts keys: nobody has to read Secrets");
});

test("another address of a cluster starts the nodes' processes again, and another key does not", async () => {
  const annotations = async (pool: object) => {
    const node = (await made(...cephPools(pool))).find(({ kind }) => kind === "DaemonSet");
    const template = node?.spec?.["template"] as { metadata: { annotations: object } } | undefined;
    return template?.metadata.annotations;
  };
  const before = await annotations(CEPH);
  assert.deepEqual(await annotations(CEPH), before);
  assert.notDeepEqual(await annotations({ ...CEPH, monitors: ["10.0.0.9"] }), before);
  assert.ok(!(await made()).some(({ metadata }) => metadata.name === "mooring-ceph"), "without Ceph pools");
});

test("a Ceph pool with a key in its settings, or without what it needs, is refused", async () => {
  const wrong: [object, RegExp][] = [
    [{ conf: "key = AQBx" }, /conf/],
    [{ conf: "debug_ms = 0\n Keyring=/etc/key" }, /conf/],
    [{ monitors: [] }, /monitors/],
    [{ monitors: ["10.0.0.1\nkey = x"] }, /monitors/],
    [{ secret: {} }, /secret/],
    [{ user: "a,b" }, /user/],
    [{ namespace: "" }, /namespace/],
    [{ key: "AQBx" }, /key/],
    [{ flatten: 16 }, /flatten/],
  ];
  for (const [more, what] of wrong)
    await assert.rejects(renderChart(...cephPools({ ...CEPH, ...more })), (error: Error) => {
      assert.match(error.message, what, JSON.stringify(more));
      return true;
    });
});
