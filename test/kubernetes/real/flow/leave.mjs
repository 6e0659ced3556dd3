// Users take their claims away, then Mooring: nothing of it is left in the cluster, and nothing on the machine but its folder.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { until } from "../support/program.mjs";

const DATA = [
  ...["pv", "pvc", "volumesnapshots", "volumesnapshotcontents", "volumegroupsnapshots"],
  ...["volumegroupsnapshotcontents", "volumeattachments.storage.k8s.io"],
  ...["volumes", "snapshots", "groupsnapshots", "volumeattachments"].map(
    (kind) => `${kind}.storage.mooring.dev`,
  ),
].join(",");

export async function takeDataAway(kube) {
  await kube.delete("pod/writer", "pod/raw-writer", "pvc/data", "pvc/raw");
  await nothingOfVolumes(kube);
}

/** Neither of Kubernetes' kinds nor of ours. */
export async function nothingOfVolumes(kube) {
  await until("nothing of the volumes to be left", async () => {
    const left = await kube.kubectl("get", DATA, "-A", "-o", "name", "--ignore-not-found");
    if (left !== "") throw new Error(left);
    return true;
  });
}

/** Pools first, while their nodes can take away what is on the disk; then what runs; then the kinds. */
export async function uninstall(kube) {
  await kube.delete("pools.storage.mooring.dev", "--all");
  await kube.kubectl("delete", "-f", join(ROOT, "deploy/manifests"), "--timeout=900s");
  await kube.kubectl("delete", "-f", join(ROOT, "deploy/crds"), "--timeout=900s");
  await nothingOfMooring(kube);
}

/** Neither in the cluster, once its namespace is gone as well, nor on this machine. */
export async function nothingOfMooring(kube) {
  await until(
    "the pods to be gone",
    async () => (await kube.kubectl("-n", "mooring", "get", "pods", "-o", "name")) === "",
  );
  await kube.delete("namespace/mooring");
  const ours = await kube.kubectl("api-resources", "--api-group=storage.mooring.dev", "-o", "name");
  assert.equal(ours, "");
  const kinds = "clusterroles,clusterrolebindings,storageclasses,csidrivers,validatingadmissionpolicies";
  const left = await kube.kubectl("get", kinds, "-l", "app.kubernetes.io/name=mooring", "-o", "name");
  const roles = await kube.kubectl("-n", "kube-system", "get", "roles,rolebindings,leases", "-o", "name");
  assert.equal(left, "");
  assert.deepEqual(await readdir("/var/lib/mooring/pools"), []);
  assert.doesNotMatch(roles, /mooring/);
  const mounts = (await readFile("/proc/self/mountinfo", "utf8")).split("\n");
  assert.deepEqual(mountsOfMooring(mounts), []);
}

/** Lines of a mountinfo. What others on this machine mount elsewhere is seen there as well. */
export const mountsOfMooring = (lines) =>
  lines.filter((line) => /^(\S+ ){4}\/var\/lib\/(mooring|kubelet\/\S*csi\.mooring\.dev)/.test(line));
