// Volumes in each node's own pool: where they are made, who can use them, and a group that is on both.
import assert from "node:assert/strict";
import { COUNT_ON, claim, countNumbers, groupRestore, groupSnapshot, pod } from "./objects.mjs";

export const WORKERS = ["worker-1", "worker-2"];
/** The claims and pods of each node. */
export const ON = { "worker-1": "left", "worker-2": "right" };

const HOSTS = "{.spec.nodeAffinity.required.nodeSelectorTerms[*].matchExpressions[*].values[*]}";

const NODE_IDS = "{.metadata.annotations.csi\\.volume\\.kubernetes\\.io/nodeid}";
const DRIVERS = '{range .spec.drivers[?(@.name=="csi.mooring.dev")]}{.nodeID}{end}';

/** What the kubelet has written when it registered the driver: the node's id, by the name of its driver. */
async function hasNodeId(kube, node) {
  const ids = JSON.parse(await kube.get(`node/${node}`, NODE_IDS));
  assert.equal(ids["csi.mooring.dev"], await kube.get(`csinode/${node}`, DRIVERS));
  assert.ok(ids["csi.mooring.dev"], JSON.stringify(ids));
}

/** The pod that counts on a node's own volume. */
export const counter = (name) => pod(name, { mounts: { "/data": name }, run: COUNT_ON });

/** A volume is made where the scheduler has put its pod, and is not before. */
export async function placed(kube) {
  await kube.apply(claim("left", "300Mi"), claim("right", "300Mi"));
  for (const name of Object.values(ON)) {
    assert.equal(await kube.get(`pvc/${name}`, "{.status.phase}"), "Pending");
    assert.equal(await kube.get(`pvc/${name}`, "{.spec.volumeName}"), "");
  }
  await kube.apply(
    ...Object.entries(ON).map(([node, name]) =>
      pod(name, { mounts: { "/data": name }, run: COUNT_ON, node }),
    ),
  );
  await kube.ready(...Object.values(ON));
  for (const [node, name] of Object.entries(ON)) {
    await hasNodeId(kube, node);
    const volume = await kube.get(`pvc/${name}`, "{.spec.volumeName}");
    const handle = await kube.get(`pv/${volume}`, "{.spec.csi.volumeHandle}");
    assert.equal(await kube.get(`volumes.storage.mooring.dev/${handle}`, "{.status.currentNodeID}"), node);
    assert.match(await kube.get(`pv/${volume}`, HOSTS), new RegExp(`\\b${node}\\b`));
    await kube.sh(
      name,
      "dd if=/dev/urandom of=/data/file bs=1M count=8 2>&1; cd /data; md5sum file >sum; sync",
    );
  }
}

/** The same claim, with its node closed to new pods: the pod waits, and says why; then it finds everything. */
export async function stays(kube) {
  await kube.delete("pod/left");
  await kube.kubectl("cordon", "worker-1");
  await kube.apply(counter("left"));
  const why = '{.status.conditions[?(@.type=="PodScheduled")].message}';
  await kube.shows(
    "pod/left",
    why,
    /node\(s\) (didn't match PersistentVolume's node affinity|had volume node affinity conflict)/,
  );
  await kube.kubectl("uncordon", "worker-1");
  await kube.ready("left");
  assert.equal(await kube.get("pod/left", "{.spec.nodeName}"), "worker-1");
  assert.equal(await kube.sh("left", "cd /data && md5sum -c sum"), "file: OK");
}

/** Members on both nodes, written all the time; each comes back on the node of its source. */
export async function bothAtOnce(kube) {
  await kube.apply(groupSnapshot("both"));
  await kube.shows("volumegroupsnapshot/both", "{.status.readyToUse}", "true");
  await kube.apply(groupRestore("again", "both"));
  await kube.shows("volumegrouprestore/again", '{.status.conditions[?(@.type=="Complete")].status}', "True");
  const names = Object.values(ON).map((name) => `${name}-again`);
  await kube.apply(...names.map((name) => pod(name, { mounts: { "/data": name } })));
  await kube.ready(...names);
  for (const [node, name] of Object.entries(ON)) {
    assert.equal(await kube.get(`pod/${name}-again`, "{.spec.nodeName}"), node);
    assert.equal(await kube.sh(`${name}-again`, "cd /data && md5sum -c sum"), "file: OK");
    countNumbers(await kube.sh(`${name}-again`, "cat /data/numbers"));
  }
  await kube.delete(...names.map((name) => `pod/${name}`), "volumegrouprestore/again");
  await kube.delete(...names.map((name) => `pvc/${name}`), "volumegroupsnapshot/both");
}
