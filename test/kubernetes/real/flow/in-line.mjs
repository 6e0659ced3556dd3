// A pod that would have a volume of ours without a claim.
import assert from "node:assert/strict";
import { writeFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/program.mjs";
import { pod } from "./objects.mjs";

/** The API server knows no handle in a pod, and without one the kubelet makes no volume of a driver whose volumes have claims. */
export async function needsClaim(kube) {
  const volume = await kube.get("pvc/data", "{.spec.volumeName}");
  const { driver, volumeHandle } = JSON.parse(await kube.get(`pv/${volume}`, "{.spec.csi}"));
  const direct = pod("direct", { mounts: { "/data": "data" } });
  direct.spec.volumes = [{ name: "data", csi: { driver, volumeHandle } }];
  const file = join(kube.cluster.folder, "direct.json");
  await writeFile(file, JSON.stringify(direct));
  const create = (validation) =>
    kube.kubectl(
      ...["create", "-f", file, "--raw", `/api/v1/namespaces/default/pods?fieldValidation=${validation}`],
    );
  await assert.rejects(create("Strict"), /unknown field \\?"spec\.volumes\[0\]\.csi\.volumeHandle\\?"/);
  await create("Ignore");
  assert.deepEqual(JSON.parse(await kube.get("pod/direct", "{.spec.volumes[?(@.name=='data')].csi}")), {
    driver,
  });
  await until("the kubelet to refuse it", async () => {
    const events = await kube.kubectl("get", "events", "-o", "jsonpath={.items[*].message}");
    return /volume mode "Ephemeral" not supported by driver csi\.mooring\.dev \(only supports \["Persistent"\]\)/.test(
      events,
    );
  });
  assert.equal(await kube.get("pod/direct", "{.status.phase}"), "Pending");
  await kube.delete("pod/direct");
}
