import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { world } from "../support/world.ts";

const { kubectl, shows, gone } = await world();

const claim = (name: string, extra = "", size = "64Mi") => `
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}}
spec:
  accessModes: [ReadWriteOnce]
  resources: {requests: {storage: ${size}}}
  ${extra}
`;

const storageClass = (name: string, extra: string) => `
apiVersion: storage.k8s.io/v1
kind: StorageClass
metadata: {name: ${name}}
provisioner: csi.mooring.dev
${extra}
`;

test("a claim without a class gets the default one, is bound, and its volume goes with it", async () => {
  await kubectl.apply(claim("plain"));
  await shows(["pvc", "plain"], "{.status.phase}", "Bound");
  assert.equal(
    await kubectl.run("get", "pvc", "plain", "-o", "jsonpath={.spec.storageClassName}"),
    "mooring",
  );
  const volume = await kubectl.run("get", "pvc", "plain", "-o", "jsonpath={.spec.volumeName}");
  assert.match(volume, /^pvc-[0-9a-f-]{36}$/);
  assert.match(
    await kubectl.run("get", "pv", volume),
    /64Mi\s+RWO\s+Delete\s+Bound\s+default\/plain\s+mooring/,
  );
  await kubectl.run("delete", "pvc", "plain");
  await gone("pv", volume);
  const metrics = await kubectl.run("get", "--raw", "/metrics");
  for (const method of ["CreateVolume", "DeleteVolume"]) {
    const labels = `driver_name="csi.mooring.dev",method_name="/csi.v1.Controller/${method}",grpc_status_code="OK"`;
    assert.match(metrics, new RegExp(`^csi_plugin_operations_seconds_count{${labels}} [1-9]`, "m"));
  }
  assert.match(metrics, /^apiserver_request_total\{method="POST",code="201"\} [1-9]/m);
});

test("reclaimPolicy Retain keeps the volume, Released, until it is deleted by hand", async () => {
  await kubectl.apply(storageClass("keep", "reclaimPolicy: Retain"));
  await kubectl.apply(claim("kept", "storageClassName: keep"));
  await shows(["pvc", "kept"], "{.status.phase}", "Bound");
  const volume = await kubectl.run("get", "pvc", "kept", "-o", "jsonpath={.spec.volumeName}");
  await kubectl.run("delete", "pvc", "kept");
  await shows(["pv", volume], "{.status.phase}", "Released");
  await kubectl.run("patch", "pv", volume, "-p", '{"spec":{"persistentVolumeReclaimPolicy":"Delete"}}');
  await gone("pv", volume);
});

test("WaitForFirstConsumer leaves the claim pending, with a reason, until a pod uses it", async () => {
  await kubectl.apply(
    storageClass(
      "late",
      "volumeBindingMode: WaitForFirstConsumer\nparameters: {csi.storage.k8s.io/fstype: btrfs}",
    ),
  );
  await kubectl.apply(claim("lazy", "storageClassName: late", "256Mi"));
  await shows(
    ["events", "--field-selector", "involvedObject.name=lazy,reason=WaitForFirstConsumer"],
    "{.items[*].reason}",
    /WaitForFirstConsumer/,
  );
  assert.equal(await kubectl.run("get", "pvc", "lazy", "-o", "jsonpath={.status.phase}"), "Pending");
  await kubectl.apply(`
apiVersion: v1
kind: Pod
metadata: {name: first-consumer}
spec:
  restartPolicy: Never
  containers:
    - {name: main, image: host, command: [stat, -f, -c, "%T", /data], volumeMounts: [{name: d, mountPath: /data}]}
  volumes: [{name: d, persistentVolumeClaim: {claimName: lazy}}]
`);
  await shows(["pod", "first-consumer"], "{.status.phase}", "Succeeded");
  assert.equal((await kubectl.run("logs", "first-consumer")).trim(), "btrfs");
  await kubectl.run("delete", "pod/first-consumer", "pvc/lazy");
});

test("an unknown class, and a size that no pool has, are reported on the claim; it is retried", async () => {
  await kubectl.apply(claim("unknown", "storageClassName: nonsense"));
  await kubectl.apply(claim("huge", "", "900Ti"));
  await shows(
    ["events", "--field-selector", "involvedObject.name=huge,type=Warning"],
    "{.items[*].reason}",
    /ProvisioningFailed/,
  );
  const output = await kubectl.run("describe", "pvc", "huge");
  assert.match(output, /ProvisioningFailed/);
  assert.match(output, /no pool has room for a volume of 900 TiB/);
  assert.equal(await kubectl.run("get", "pvc", "unknown", "-o", "jsonpath={.status.phase}"), "Pending");
  await kubectl.run("delete", "pvc", "unknown", "huge");
});

test("a claim grows while its pod runs", async () => {
  await kubectl.apply(
    storageClass("xfs", "allowVolumeExpansion: true\nparameters: {csi.storage.k8s.io/fstype: xfs}"),
  );
  await kubectl.apply(claim("grows", "storageClassName: xfs", "512Mi"));
  await kubectl.apply(`
apiVersion: v1
kind: Pod
metadata: {name: user}
spec:
  terminationGracePeriodSeconds: 1
  containers:
    - name: main
      image: host
      command: [sh, -c, "while :; do df --output=size -B1M /data | tail -n 1; sleep 0.2; done"]
      volumeMounts: [{name: d, mountPath: /data}]
  volumes: [{name: d, persistentVolumeClaim: {claimName: grows}}]
`);
  await eventually("the first size", async () =>
    /^\s*\d+\n/.test(await kubectl.run("logs", "user").catch(() => "")),
  );
  await kubectl.run("patch", "pvc", "grows", "-p", '{"spec":{"resources":{"requests":{"storage":"1Gi"}}}}');
  await shows(["pvc", "grows"], "{.status.capacity.storage}", "1Gi");
  const sizes = (await kubectl.run("logs", "user")).trim().split(/\s+/).map(Number);
  assert.ok((sizes[0] ?? 0) < 520, `first ${sizes[0]} MiB`);
  const shrink = kubectl.run(
    "patch",
    "pvc",
    "grows",
    "-p",
    '{"spec":{"resources":{"requests":{"storage":"256Mi"}}}}',
  );
  await assert.rejects(shrink, /spec\.resources\.requests/);
  await kubectl.run("delete", "pod/user", "pvc/grows");
});
