// Users take their claims away, then Mooring by helm: nothing of it is left in the cluster, nor on either machine.
import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../../scripts/lib/setup.mjs";
import { nothingOfVolumes, nothingOn } from "./leave.mjs";
import { ON } from "./two-nodes.mjs";

export async function leaveNodes(kube, helm, { workers, fast }) {
  const names = Object.values(ON);
  await kube.delete(...names.flatMap((name) => [`pod/${name}`, `pvc/${name}`]));
  await nothingOfVolumes(kube, { machines: workers, shared: fast });
  await kube.delete("pools.storage.mooring.dev", "--all");
  await helm("uninstall", "mooring", "--wait");
  await kube.kubectl("delete", "-f", join(ROOT, "deploy/crds"), "--timeout=900s");
  await kube.delete("namespace/mooring");
  const all = "clusterroles,clusterrolebindings,storageclasses,csidrivers,validatingadmissionpolicies";
  const left = await kube.kubectl("get", all, "-l", "app.kubernetes.io/name=mooring", "-o", "name");
  assert.equal(left, "");
  for (const worker of workers)
    assert.deepEqual(await readdir(worker.at(`${worker.stateFolder}/pools`)), [], worker.name);
  await nothingOn(workers, { shared: fast });
  const files = await readdir(fast, { recursive: true });
  assert.deepEqual(
    files.filter((name) => name.endsWith(".img")),
    [],
  );
}
