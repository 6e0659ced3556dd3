import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { parseAllDocuments } from "yaml";
import { CONTROLLERS } from "../../packages/sidecars/src/controllers.ts";
import { CHART, MANIFESTS, renderChart, renderManifests } from "../support/chart.ts";

interface Made {
  kind: string;
  metadata: { name: string; namespace?: string };
  spec?: Record<string, unknown>;
}

interface PodSpec {
  containers: {
    securityContext?: { privileged?: boolean };
    volumeMounts?: { name: string; mountPropagation?: string }[];
  }[];
  volumes?: { name: string; hostPath?: { path: string } }[];
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
  ];
  for (const [value, what] of refused)
    await assert.rejects(renderChart("--set", value), (error: Error) => {
      assert.match(error.message, what, value);
      return true;
    });
});

test("without the engine the chart is the control plane around a driver, with nothing of Mooring's volumes", async () => {
  const objects = await made(
    ...["--set", "engine.enabled=false", "--set", "driver.secretNamespaces={shop}"],
    ...["--set-json", 'driver.containers=[{"name":"driver","image":"vendor/driver:1"}]'],
  );
  assert.deepEqual(names(objects), [
    "ClusterRole/mooring-controller",
    "ClusterRoleBinding/mooring-controller",
    "Deployment/mooring-controller",
    "PodDisruptionBudget/mooring-controller",
    "Role/mooring-controller",
    "Role/mooring-secrets",
    "RoleBinding/mooring-controller",
    "RoleBinding/mooring-secrets",
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
