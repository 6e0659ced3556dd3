import assert from "node:assert/strict";
import { mkdir, readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { type CsiServer, serveRegistration } from "@mooring/csi";
import { eventually, thorough } from "@mooring/store/testing";
import { serve } from "../../examples/driver-minimal/driver.ts";
import { afterFile } from "../support/at-end.ts";
import { startV0Driver } from "../support/v0-driver.ts";
import { missingVendorDriver, startVendorDriver } from "../support/vendor-driver.ts";
import { world } from "../support/world.ts";

const { up, kubectl, shows, gone } = await world();
const kubelet = join(up.stateDir, "kubelet");
const registry = join(kubelet, "plugins_registry");

const storageClass = (name: string, provisioner: string) => `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ${name}}
provisioner: ${provisioner}
volumeBindingMode: WaitForFirstConsumer
allowVolumeExpansion: true
`;

const claim = (name: string, storageClassName: string, more = "") => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  storageClassName: ${storageClassName}
  resources: {requests: {storage: 64Mi}}
  ${more}
`;

const pod = (name: string, volume: string, script: string) => `
apiVersion: v1
kind: Pod
metadata: {name: ${name}}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [sh, -c, "${script}; trap 'exit 0' TERM; while :; do sleep 0.1; done"]
      volumeMounts: [{name: v, mountPath: /data}]
  volumes: [{name: v, ${volume}}]
`;
const ofClaim = (name: string) => `persistentVolumeClaim: {claimName: ${name}}`;

const events = (about: string) =>
  kubectl.run("get", "events", "-A", "-o", `jsonpath={.items[?(@.reason=="${about}")].message}`);

test(
  "a driver that registers itself serves claims, outlives a kill of mooring, and is reported when it is gone with a volume in use",
  thorough(),
  async () => {
    const own = join(kubelet, "plugins/minimal");
    await mkdir(own, { recursive: true });
    const volumes = join(own, "volumes");
    const driverSocket = join(own, "csi.sock");
    const driver = await serve(`unix://${driverSocket}`, volumes, "node-a");
    let registration: CsiServer | undefined;
    const register = async () => {
      const endpoint = `unix://${join(registry, "minimal-reg.sock")}`;
      registration = serveRegistration({ endpoint, driver: "minimal.example.com", driverSocket });
      await registration.start();
    };
    afterFile(async () => {
      await registration?.stop(0);
      await driver.stop();
    });
    await register();
    await kubectl.apply(storageClass("minimal", "minimal.example.com"));
    await kubectl.apply(claim("theirs", "minimal"));
    await kubectl.apply(pod("user", ofClaim("theirs"), "echo text > /data/x"));
    await shows(["pod", "user"], "{.status.phase}", "Running");
    const [made = ""] = await readdir(volumes);
    const text = () => readFile(join(volumes, made, "data/x"), "utf8").catch(() => "");
    await eventually("what the pod has written", async () => (await text()) === "text\n");

    await up.end("SIGKILL");
    await up.start();
    await shows(["csinode", "node-a"], "{.spec.drivers[*].name}", /minimal\.example\.com/);
    await shows(["pod", "user"], "{.status.phase}", "Running");

    await registration?.stop(0);
    await shows(["csinode", "node-a"], "{.spec.drivers[*].name}", "csi.mooring.dev");
    await eventually("it is reported", async () =>
      /minimal\.example\.com has left.* 1 of its volumes are in use/.test(await events("CSIDriverLeft")),
    );
    // Mooring's own volumes trouble no other driver, and neither is a stop.
    await kubectl.apply(claim("ours", "mooring"));
    await kubectl.apply(pod("beside", ofClaim("ours"), "echo up"));
    await shows(["pod", "beside"], "{.status.phase}", "Running");
    assert.equal(await up.end("SIGTERM"), 0);
    await up.start();
    await register();
    await shows(["pod", "user"], "{.status.phase}", "Running");
    await kubectl.run("delete", "pod", "user", "beside");
    await kubectl.run("delete", "pvc", "theirs", "ours");
    await eventually("the volume to be gone", async () => (await readdir(volumes)).length === 0);
    await registration?.stop(0);
  },
);

test(
  "a driver of csi.v0 alone registers itself and serves a claim from its making to its end, also across a kill of mooring",
  thorough(),
  async () => {
    const own = join(kubelet, "plugins/old");
    const [volumes, driverSocket] = [join(own, "volumes"), join(own, "csi.sock")];
    const driver = await startV0Driver(driverSocket, { name: "old.example.com", nodeId: "old-a", volumes });
    const registration = serveRegistration({
      ...{ endpoint: `unix://${join(registry, "old-reg.sock")}`, driver: "old.example.com", driverSocket },
      versions: ["0.3.0"],
    });
    await registration.start();
    afterFile(async () => {
      await registration.stop(0);
      await driver.stop();
    });
    await shows(["csinode", "node-a"], "{.spec.drivers[*].name}", /old\.example\.com/);
    await kubectl.apply(storageClass("old", "old.example.com"));
    await kubectl.apply(claim("old", "old"));
    await kubectl.apply(pod("old", ofClaim("old"), "echo kept > /data/x"));
    await shows(["pod", "old"], "{.status.phase}", "Running");
    const [made = ""] = await readdir(volumes);
    const text = () => readFile(join(volumes, made, "x"), "utf8").catch(() => "");
    await eventually("what the pod has written", async () => (await text()) === "kept\n");
    await up.end("SIGKILL");
    await up.start();
    await shows(["pod", "old"], "{.status.phase}", "Running");
    await kubectl.run("delete", "pod", "old");
    await kubectl.apply(pod("reader", ofClaim("old"), "cat /data/x"));
    await shows(["pod", "reader"], "{.status.phase}", "Running");
    await eventually("the same", async () => (await kubectl.run("logs", "reader")) === "kept\n");
    await kubectl.run("delete", "pod", "reader");
    await kubectl.run("delete", "pvc", "old");
    await eventually("the volume to be gone", async () => (await readdir(volumes)).length === 0);
    for (const call of [
      "ControllerPublishVolume",
      "NodeStageVolume",
      "NodeUnstageVolume",
      "ControllerUnpublishVolume",
    ])
      assert.ok(driver.calls.includes(call), call);
    await registration.stop(0);
  },
);

test("the host-path driver of the Kubernetes project, with its registrar: claims, growth, snapshots, volumes of one pod", {
  skip: thorough().skip || (missingVendorDriver() ?? false),
}, async () => {
  const vendor = await startVendorDriver(kubelet, "node-a");
  afterFile(() => vendor.stop());
  // As its manifests have it.
  await kubectl.apply(`
apiVersion: storage.k8s.io/v1
kind: CSIDriver
metadata: {name: hostpath.csi.k8s.io}
spec:
  volumeLifecycleModes: [Persistent, Ephemeral]
  podInfoOnMount: true
  fsGroupPolicy: File
---
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshotClass
metadata: {name: hostpath}
driver: hostpath.csi.k8s.io
deletionPolicy: Delete
`);
  await shows(["csinode", "node-a"], "{.spec.drivers[*].name}", /hostpath\.csi\.k8s\.io/);
  await kubectl.apply(storageClass("hostpath", "hostpath.csi.k8s.io"));
  await kubectl.apply(claim("vendor", "hostpath"));
  await kubectl.apply(pod("vendor", ofClaim("vendor"), "echo kept > /data/x"));
  await shows(["pod", "vendor"], "{.status.phase}", "Running");
  const bytes = '{"spec":{"resources":{"requests":{"storage":"128Mi"}}}}';
  await kubectl.run("patch", "pvc", "vendor", "--type=merge", "-p", bytes);
  await shows(["pvc", "vendor"], "{.status.capacity.storage}", "128Mi");
  await kubectl.apply(`
apiVersion: snapshot.storage.k8s.io/v1
kind: VolumeSnapshot
metadata: {name: vendor}
spec: {volumeSnapshotClassName: hostpath, source: {persistentVolumeClaimName: vendor}}
`);
  await shows(["volumesnapshot", "vendor"], "{.status.readyToUse}", "true");
  const source = "dataSource: {apiGroup: snapshot.storage.k8s.io, kind: VolumeSnapshot, name: vendor}";
  await kubectl.apply(claim("restored", "hostpath", source).replace("64Mi", "128Mi"));
  await kubectl.apply(pod("restored", ofClaim("restored"), "cat /data/x"));
  await shows(["pod", "restored"], "{.status.phase}", "Running");
  await eventually(
    "what was written before the snapshot",
    async () => (await kubectl.run("logs", "restored")) === "kept\n",
  );
  await kubectl.apply(pod("inline", "csi: {driver: hostpath.csi.k8s.io}", "touch /data/mine"));
  await shows(["pod", "inline"], "{.status.phase}", "Running");

  await kubectl.run("delete", "pod", "vendor", "restored", "inline");
  await kubectl.run("delete", "volumesnapshot", "vendor");
  await kubectl.run("delete", "pvc", "vendor", "restored");
  await gone("volumesnapshot", "vendor");
  await eventually("no volume to be left", async () => (await vendor.volumes()).length === 0);
  await vendor.stop();
  await shows(["csinode", "node-a"], "{.spec.drivers[*].name}", "csi.mooring.dev");
});
