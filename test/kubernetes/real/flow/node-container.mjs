// What the kubelet and its runtime give the driver's container, as the kernel has it.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { processesOf } from "./crashes.mjs";

const CAP_SYS_ADMIN = 1n << 21n;

/** What the node's process may, as the kernel has it, and which containers reach the kubelet's folder in both directions. */
export async function nodesContainer(kube) {
  const pids = await processesOf("node");
  assert.notDeepEqual(pids, []);
  for (const pid of pids) {
    const status = await readFile(`/proc/${pid}/status`, "utf8");
    const effective = BigInt(`0x${/^CapEff:\s+(\S+)$/m.exec(status)[1]}`);
    assert.ok((effective & CAP_SYS_ADMIN) !== 0n, status);
  }
  const { items } = JSON.parse(await kube.kubectl("-n", "mooring", "get", "pods", "-o", "json"));
  const found = items.flatMap(({ spec }) => {
    const { name } = spec.volumes.find(({ hostPath }) => hostPath?.path === "/var/lib/kubelet") ?? {};
    const mounts = [...(spec.initContainers ?? []), ...spec.containers].flatMap((each) => each.volumeMounts);
    return mounts.filter((mount) => mount.name === name);
  });
  assert.deepEqual(
    found.map(({ mountPropagation }) => mountPropagation),
    ["Bidirectional"],
  );
}
