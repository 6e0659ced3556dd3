// Users take their claims away, then Mooring: nothing of it is left in the cluster, and nothing on the machine but its folder.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { until } from "../support/program.mjs";
import {
  attachedLoops,
  deviceOf,
  HERE,
  loopsOfMooring,
  loopsOfVolumes,
  mountsOfMooring,
  mountsOfVolumes,
  showLoop,
} from "../support/traces.mjs";

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

/** Neither of Kubernetes' kinds nor of ours, nor on these machines. `shared`: see {@link nothingOn}. */
export async function nothingOfVolumes(kube, { machines = [HERE], shared } = {}) {
  await until("nothing of the volumes to be left", async () => {
    const left = await kube.kubectl("get", DATA, "-A", "-o", "name", "--ignore-not-found");
    if (left !== "") throw new Error(left);
    await nothingOn(machines, { shared, mountsOf: mountsOfVolumes, loopsOf: loopsOfVolumes });
    return true;
  });
}

/**
 * No mount and no loop device, of those that `mountsOf` and `loopsOf` find. `shared`: a folder that is a pool of all machines, on a
 * device that stays.
 */
export async function nothingOn(
  machines,
  { shared, mountsOf = mountsOfMooring, loopsOf = loopsOfMooring } = {},
) {
  const besides = shared === undefined ? [] : [await deviceOf(shared)];
  for (const machine of machines) {
    assert.deepEqual(mountsOf(await machine.mounts()), [], machine.name);
    const loops = await loopsOf(await attachedLoops(), machine, besides);
    assert.deepEqual(loops.map(showLoop), [], machine.name);
  }
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
  await nothingOn([HERE]);
}
