// Drivers of another vendor beside ours, which write down how the same kubelet calls them: what it makes of a driver with fewer
// capabilities, and what it passes.
import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { access, constants } from "node:fs/promises";
import { dirname, join } from "node:path";
import { readRequests } from "../support/audit.mjs";
import { loadModule } from "../support/load-module.mjs";
import { until } from "../support/program.mjs";
import { claim, pod } from "./objects.mjs";

const SOURCE = new URL("../support/recording-driver.ts", import.meta.url);
const NODE = "worker-1";
/** By what each can. */
const DRIVERS = {
  publishes: {},
  stages: { stages: true },
  attaches: { attaches: true },
};

/** Ends at once when it has to. */
const UNTIL_ASKED = "trap 'exit 0' TERM; sleep 1000000000 & wait";

const csiDriver = (name, attachRequired) => ({
  ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name } },
  spec: { attachRequired },
});

/**
 * Volumes that an administrator has, with claims of the same names; `csi`: more of their source. Whoever leaves it to Kubernetes'
 * controller to find out which claim a volume is for waits a quarter of a minute more, as that one often gets in its own way.
 */
export async function makeVolumes(kube, driver, names, csi = {}) {
  await kube.apply(...names.map((name) => claim(name, "1Mi", { storageClassName: "" })));
  const uids = await Promise.all(names.map((name) => kube.get(`pvc/${name}`, "{.metadata.uid}")));
  const rules = { storageClassName: "", persistentVolumeReclaimPolicy: "Retain" };
  await kube.apply(
    ...names.map((name, at) => ({
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "1Mi" }, ...rules },
        claimRef: { namespace: "default", name, uid: uids[at] },
        csi: { driver: driver.name, volumeHandle: name, ...csi },
      },
    })),
  );
  for (const name of names) await kube.shows(`pvc/${name}`, "{.status.phase}", "Bound");
}

/** A pod that has the volume of the same name, or another one's. */
export const podOf = (name, of = name) => pod(name, { mounts: { "/data": of }, run: UNTIL_ASKED });

export async function removeVolumes(kube, ...names) {
  await kube.delete(...names.flatMap((name) => [`pvc/${name}`, `pv/${name}`]), "--ignore-not-found");
}

/** The drivers' names on the node. */
const registered = (kube) => kube.get(`csinode/${NODE}`, "{.spec.drivers[*].name}");

/** Starts them where a kubelet runs. Resolves with `{ publishes, stages, attaches }` when it has registered all. */
export async function startDrivers(kube) {
  const { RecordingDriver } = await loadModule(SOURCE, kube.cluster.folder);
  const entries = Object.entries(DRIVERS).map(([what, can]) => [
    what,
    new RecordingDriver(`${what}.example.com`, { nodeId: NODE, ...can }),
  ]);
  await kube.apply(...entries.map(([what, { name }]) => csiDriver(name, what === "attaches")));
  for (const [, driver] of entries) await driver.start();
  for (const [, { name }] of entries)
    await until(`${name} to be registered`, async () => (await registered(kube)).split(" ").includes(name));
  return Object.fromEntries(entries);
}

export async function stopDrivers(kube, drivers) {
  for (const driver of Object.values(drivers)) {
    await driver.stop();
    await kube.delete(`csidriver/${driver.name}`);
  }
  await until("the kubelet to see them leave", async () => !/example\.com/.test(await registered(kube)));
}

/** A driver that can nothing else is only asked who it is, and to publish and unpublish: the pod has what it has mounted there. */
export async function onlyPublishes(kube, { publishes: driver }) {
  const seen = [];
  driver.before("NodePublishVolume", "plain", async ({ targetPath }) => {
    await access(dirname(targetPath), constants.R_OK | constants.W_OK);
    // That of csi.v1 is the driver's to make.
    seen.push({ targetPath, exists: existsSync(targetPath) });
  });
  await makeVolumes(kube, driver, ["plain"]);
  await kube.apply(podOf("plain"));
  await kube.ready("plain");
  assert.equal(await kube.sh("plain", "cat /data/file"), "plain");
  const uid = await kube.get("pod/plain", "{.metadata.uid}");
  const targetPath = join("/var/lib/kubelet/pods", uid, "volumes/kubernetes.io~csi/plain/mount");
  assert.deepEqual(seen, [{ targetPath, exists: false }]);
  const [{ request }] = driver.callsOf("plain");
  assert.deepEqual([request.stagingTargetPath, request.publishContext, request.secrets], ["", {}, {}]);
  const attachments = "{.items[*].spec.source.persistentVolumeName}";
  const attached = await kube.kubectl(
    ...["get", "volumeattachments.storage.k8s.io", "-o", `jsonpath=${attachments}`],
  );
  assert.ok(!attached.split(" ").includes("plain"), attached);
  await kube.delete("pod/plain");
  await removeVolumes(kube, "plain");
  assert.deepEqual(driver.stepsOf("plain"), ["NodePublishVolume OK", "NodeUnpublishVolume OK"]);
  // The kubelet was there before its socket. Whether it is a controller, no kubelet asks.
  assert.equal(driver.methods[0], "csi.v1.Node/NodeGetInfo");
  const calls = ["NodeGetCapabilities", "NodeGetInfo", "NodePublishVolume", "NodeUnpublishVolume"];
  assert.deepEqual(
    [...new Set(driver.methods)].sort(),
    calls.map((each) => `csi.v1.Node/${each}`),
  );
}

const secret = (name, stringData) => ({ apiVersion: "v1", kind: "Secret", metadata: { name }, stringData });

/** A PersistentVolume names two Secrets: the kubelet reads each and passes it in the call that it is for. */
export async function passesSecrets(kube, { stages: driver }) {
  const data = {
    "for-staging": { user: "stager", key: "grün" },
    "for-publishing": { user: "publisher" },
  };
  const names = Object.keys(data);
  const [nodeStageSecretRef, nodePublishSecretRef] = names.map((name) => ({ name, namespace: "default" }));
  await makeVolumes(kube, driver, ["secretive"], { nodeStageSecretRef, nodePublishSecretRef });
  await kube.apply(...names.map((name) => secret(name, data[name])), podOf("secretive"));
  await kube.ready("secretive");
  const passed = (method) => driver.callsOf("secretive", method).map(({ request }) => request.secrets);
  assert.deepEqual(passed("NodeStageVolume"), [data["for-staging"]]);
  assert.deepEqual(passed("NodePublishVolume"), [data["for-publishing"]]);
  const requests = await readRequests(kube.cluster.audit.file);
  const read = requests.filter(
    ({ user, verb, objectRef, responseStatus }) =>
      user.username === `system:node:${NODE}` &&
      objectRef?.resource === "secrets" &&
      verb === "get" &&
      responseStatus?.code === 200,
  );
  for (const name of names)
    assert.ok(
      read.some(({ objectRef }) => objectRef.name === name),
      name,
    );
  await kube.delete("pod/secretive");
  await kube.delete(...names.map((name) => `secret/${name}`));
  await removeVolumes(kube, "secretive");
}
