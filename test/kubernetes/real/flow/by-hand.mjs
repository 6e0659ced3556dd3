// What an administrator writes about volumes by hand: read-only ones, and those of another node.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import { HERE, mountsOfVolumes } from "../support/traces.mjs";
import { claim, pod, rawClaim } from "./objects.mjs";

const READERS = { files: "read", device: "read-raw" };

/** Another PersistentVolume of the same volume: `more` of its spec, `csi` of its source. And a claim for it. */
async function sameVolume(kube, { from, name, csi = {}, ...more }) {
  const volume = await kube.get(`pvc/${from}`, "{.spec.volumeName}");
  const { spec } = JSON.parse(await kube.kubectl("get", `pv/${volume}`, "-o", "json"));
  const { volumeMode, capacity, accessModes, nodeAffinity } = spec;
  const kept = { volumeMode, capacity, accessModes, nodeAffinity, csi: { ...spec.csi, ...csi } };
  const rules = { storageClassName: "", persistentVolumeReclaimPolicy: "Retain" };
  const claimRef = { namespace: "default", name };
  await kube.apply(
    {
      ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
      spec: { ...kept, ...rules, claimRef, ...more },
    },
    claim(name, capacity.storage, { storageClassName: "", volumeName: name, volumeMode }),
  );
}

/** Only the attacher hears that a PersistentVolume is read-only: the driver learns of it on the node by what it has returned there. */
export async function readOnlyVolumes(kube) {
  await kube.apply(claim("files", "64Mi"), rawClaim("device", "64Mi"));
  const paths = { mounts: { "/data": "files" }, devices: { "/dev/raw": "device" } };
  await kube.apply(pod("fill", paths));
  await kube.ready("fill");
  await kube.sh("fill", "echo kept >/data/file; printf kept | dd of=/dev/raw conv=fsync 2>&1; sync");
  await kube.delete("pod/fill");
  for (const [from, name] of Object.entries(READERS))
    await sameVolume(kube, { from, name, csi: { readOnly: true } });
  await kube.apply(pod("reader", { mounts: { "/data": "read" }, devices: { "/dev/raw": "read-raw" } }));
  await kube.ready("reader");
  const written =
    '{range .items[*]}{.spec.source.persistentVolumeName} {.status.attachmentMetadata}{"\\n"}{end}';
  const attached = await kube.kubectl("get", "volumeattachments.storage.k8s.io", "-o", `jsonpath=${written}`);
  for (const name of Object.values(READERS))
    assert.ok(attached.split("\n").includes(`${name} {"storage.mooring.dev/read-only":"true"}`), attached);
  // The staging got it as well: the file system is read-only, not its mount at the pod alone.
  const lines = mountsOfVolumes(await HERE.mounts()).map((line) => line.split(" "));
  const at = lines.find((line) => line[4]?.endsWith("/read/mount"));
  const staged = lines.find((line) => line[2] === at[2] && /\/globalmount$/.test(line[4]));
  assert.match(staged.at(-1), /^ro,|^ro$/);
  assert.equal(
    await kube.sh("reader", "cat /data/file; dd if=/dev/raw bs=4 count=1 2>/dev/null"),
    "kept\nkept",
  );
  await assert.rejects(kube.sh("reader", "echo no >/data/file"), /Read-only file system/);
  // A raw volume is closed to writers when it is published: its staging does nothing.
  assert.equal(await kube.sh("reader", "blockdev --getro /dev/raw"), "1");
  await heldByItsFinalizer(kube, "read");
  for (const name of Object.values(READERS))
    await kube.delete(`pvc/${name}`, `pv/${name}`, "--ignore-not-found");
  await kube.delete("pvc/files", "pvc/device");
}

/** A PersistentVolume is deleted, and Kubernetes' own protection taken from it: while it is attached it stays for the attacher's alone. */
async function heldByItsFinalizer(kube, name) {
  const finalizers = () => kube.get(`pv/${name}`, "{.metadata.finalizers[*]}");
  const ours = "external-attacher/csi-mooring-dev";
  assert.ok((await finalizers()).split(" ").includes(ours), await finalizers());
  await kube.kubectl("delete", `pv/${name}`, "--wait=false");
  const body = JSON.stringify({ metadata: { finalizers: [ours] } });
  await kube.kubectl("patch", `pv/${name}`, "--type=merge", "-p", body);
  assert.match(await kube.get(`pv/${name}`, "{.metadata.deletionTimestamp}"), /./);
  assert.equal(await finalizers(), ours);
  assert.equal(await kube.sh("reader", "cat /data/file"), "kept");
  await kube.delete("pod/reader");
  await until("the PersistentVolume to be gone", async () => {
    const left = await kube.kubectl("get", "pv", "-o", "jsonpath={.items[*].metadata.name}");
    return !left.split(" ").includes(name);
  });
}

const classOf = (name, key, value) => ({
  ...{ apiVersion: "storage.k8s.io/v1", kind: "StorageClass", metadata: { name } },
  ...{ provisioner: "csi.mooring.dev", volumeBindingMode: "WaitForFirstConsumer" },
  allowedTopologies: [{ matchLabelExpressions: [{ key, values: [value] }] }],
});
const termsOf = (key, value) => [{ matchExpressions: [{ key, operator: "In", values: [value] }] }];

/** By one key and value in Node, class and PersistentVolume a pod gets its node; by a value that no node has, it gets none. */
export async function topologies(kube) {
  const [csi, node] = ["csinode", "node"].map((kind) => `${kind}/worker-1`);
  const key = await kube.get(csi, '{.spec.drivers[?(@.name=="csi.mooring.dev")].topologyKeys[0]}');
  const value = JSON.parse(await kube.kubectl("get", node, "-o", "json")).metadata.labels[key];
  assert.ok(value);
  await kube.apply(classOf("here", key, value), classOf("elsewhere", key, "elsewhere"));
  const used = (name) => claim(name, "64Mi", { storageClassName: name });
  const names = ["here", "elsewhere"];
  await kube.apply(...names.map(used), ...names.map((name) => pod(name, { mounts: { "/data": name } })));
  await kube.ready("here");
  const volume = await kube.get("pvc/here", "{.spec.volumeName}");
  const { spec } = JSON.parse(await kube.kubectl("get", `pv/${volume}`, "-o", "json"));
  assert.deepEqual(spec.nodeAffinity.required.nodeSelectorTerms, termsOf(key, value));
  await sameVolume(kube, {
    ...{
      from: "here",
      name: "far",
      nodeAffinity: { required: { nodeSelectorTerms: termsOf(key, "elsewhere") } },
    },
  });
  await kube.apply(pod("far", { mounts: { "/data": "far" } }));
  const why = '{.status.conditions[?(@.type=="PodScheduled")].message}';
  for (const [name, reason] of [
    ["elsewhere", /find available persistent volumes to bind/],
    ["far", /affinity/],
  ])
    await kube.shows(`pod/${name}`, why, reason);
  await kube.delete(...[...names, "far"].flatMap((name) => [`pod/${name}`, `pvc/${name}`]), "pv/far");
  await kube.delete(...names.map((name) => `storageclass/${name}`));
}
