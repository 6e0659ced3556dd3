import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import {
  defined,
  Events,
  isStatus,
  type ObjectMeta,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  type Pod,
  Pods,
  ResourceQuotas,
  StorageClasses,
  silentLogger,
} from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { mustRun, programs, type Run, runner } from "../../apiserver/testing/kubectl.ts";
import { startTestServer, type TestServer } from "../../apiserver/testing/test-server.ts";
import { startBinder } from "../binder/index.ts";
import { openClusterView } from "../cluster-view.ts";
import { startResourceQuotaController } from "./index.ts";

let server: TestServer;
let run: Run;
let kubectl: ReturnType<typeof mustRun>;
const parts: { done: Promise<void> }[] = [];

before(async () => {
  server = await startTestServer();
  const { store, signal } = server;
  const view = await openClusterView(store, { logger: silentLogger, signal });
  parts.push(view, await startResourceQuotaController({ store, view, logger: silentLogger, signal }));
  run = runner((await programs()).kubectl, { folder: server.folder, kubeconfig: server.api.kubeconfig });
  kubectl = mustRun(run);
  await store.create(StorageClasses, {
    apiVersion: "storage.k8s.io/v1",
    kind: "StorageClass",
    metadata: { name: "fast", annotations: { "storageclass.kubernetes.io/is-default-class": "true" } },
    provisioner: "example.com/none",
    allowVolumeExpansion: true,
  });
});
after(async () => {
  await server?.stop();
  await Promise.all(parts.map(({ done }) => done));
});

function claim(namespace: string, name: string, storage: string, storageClassName?: string) {
  return {
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name, namespace } as ObjectMeta,
    spec: {
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage } },
      ...defined({ storageClassName }),
    },
  } satisfies PersistentVolumeClaim;
}

const create = (...args: Parameters<typeof claim>) =>
  server.store.create<PersistentVolumeClaim>(PersistentVolumeClaims, claim(...args));
const used = (namespace: string, name: string, wanted: Record<string, string>) =>
  eventually(`${name} shows what is used`, async () => {
    const { status } = await server.store.get(ResourceQuotas, { namespace, name });
    return JSON.stringify(status?.used) === JSON.stringify(wanted);
  });

test("a quota by kubectl: what fits is made, what does not is refused with the numbers, and what goes makes room", async () => {
  await kubectl(["create", "namespace", "full"]);
  await kubectl([
    "create",
    "quota",
    "disk",
    "-n",
    "full",
    "--hard=requests.storage=10Gi,persistentvolumeclaims=3",
  ]);
  await create("full", "first", "9Gi");
  const input = JSON.stringify(claim("full", "second", "2Gi"));
  const refused = await run(["create", "-f", "-"], { input });
  assert.equal(refused.code, 1);
  assert.match(
    refused.stderr,
    /Forbidden.*"second" is forbidden: exceeded quota: disk, requested: requests.storage=2Gi, used: requests.storage=9Gi, limited: requests.storage=10Gi/,
  );
  await used("full", "disk", { persistentvolumeclaims: "1", "requests.storage": "9Gi" });
  assert.match(await kubectl(["describe", "quota", "disk", "-n", "full"]), /requests.storage +9Gi +10Gi/);
  await kubectl(["delete", "pvc", "first", "-n", "full"]);
  await kubectl(["create", "-f", "-"], { input });
  await used("full", "disk", { persistentvolumeclaims: "1", "requests.storage": "2Gi" });
});

test("of claims that are made at the same time, as many pass as fit, whoever makes them", async () => {
  await kubectl(["create", "namespace", "race"]);
  await kubectl(["create", "quota", "disk", "-n", "race", "--hard=requests.storage=3Gi"]);
  const results = await Promise.allSettled(
    Array.from({ length: 20 }, (_, index) => create("race", `c${index}`, "1Gi")),
  );
  const errors = results.flatMap((result) => (result.status === "rejected" ? [result.reason] : []));
  assert.equal(errors.length, 17);
  assert.ok(
    errors.every((error) => isStatus(error, "Forbidden") && /exceeded quota: disk/.test(error.message)),
  );
});

test("a claim that grows needs room for what it grows by", thorough(), async () => {
  const { store } = server;
  await kubectl(["create", "namespace", "growth"]);
  await kubectl(["create", "quota", "disk", "-n", "growth", "--hard=requests.storage=3Gi"]);
  const made = await create("growth", "c", "1Gi", "fast");
  await store.updateStatus(PersistentVolumeClaims, { ...made, status: { phase: "Bound" } });
  const grow = (storage: string) =>
    run([
      "patch",
      "pvc",
      "c",
      "-n",
      "growth",
      "-p",
      JSON.stringify({ spec: { resources: { requests: { storage } } } }),
    ]);
  assert.match(
    (await grow("4Gi")).stderr,
    /exceeded quota: disk, requested: requests.storage=3Gi, used: requests.storage=1Gi, limited: requests.storage=3Gi/,
  );
  assert.equal((await grow("3Gi")).code, 0);
  await kubectl(["label", "pvc", "c", "-n", "growth", "still=changeable"]);
  await used("growth", "disk", { "requests.storage": "3Gi" });
});

test(
  "a class has limits of its own, and claims that name none are of the default class",
  thorough(),
  async () => {
    const resource = "fast.storageclass.storage.k8s.io/requests.storage";
    await kubectl(["create", "namespace", "classes"]);
    await kubectl(["create", "quota", "fast", "-n", "classes", `--hard=${resource}=1Gi`]);
    await create("classes", "other", "5Gi", "slow");
    await create("classes", "default", "1Gi");
    await assert.rejects(create("classes", "named", "1Gi", "fast"), /exceeded quota: fast/);
    await used("classes", "fast", { [resource]: "1Gi" });
  },
);

test("a claim that a pod brings along is held as well, and the pod has an event", async () => {
  const { store, signal } = server;
  await kubectl(["create", "namespace", "pods"]);
  await kubectl(["create", "quota", "disk", "-n", "pods", "--hard=requests.storage=1Gi"]);
  const view = await openClusterView(store, { logger: silentLogger, signal });
  parts.push(view, await startBinder({ store, view, logger: silentLogger, signal }));
  const { spec } = claim("pods", "data", "2Gi");
  const containers = [{ name: "main", image: "host", volumeMounts: [{ name: "data", mountPath: "/data" }] }];
  const volumes = [{ name: "data", ephemeral: { volumeClaimTemplate: { spec } } }];
  await store.create<Pod>(Pods, {
    apiVersion: "v1",
    kind: "Pod",
    metadata: { name: "p", namespace: "pods" },
    spec: { containers, volumes },
  });
  await eventually("the event", async () => {
    const { items } = await store.list(Events, { namespace: "pods" });
    return items.some(
      ({ reason, message = "" }) => reason === "FailedBinding" && /exceeded quota/.test(message),
    );
  });
  assert.deepEqual((await store.list(PersistentVolumeClaims, { namespace: "pods" })).items, []);
  await kubectl(["delete", "pod", "p", "-n", "pods"]);
});

test("what is limited but not counted here is refused", thorough(), async () => {
  const refused = await run(["create", "quota", "cpu", "--hard=requests.cpu=1"]);
  assert.match(refused.stderr, /Unsupported value: "requests.cpu"/);
});

test("a number of claims is a whole number", async () => {
  for (const name of ["persistentvolumeclaims", "count/persistentvolumeclaims"]) {
    const refused = await run(["create", "quota", "half", `--hard=${name}=1500m`]);
    assert.match(refused.stderr, /Invalid value: .*must be an integer/);
  }
});
