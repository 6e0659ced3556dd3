// A volume of a pool that both nodes have goes with its pod when the pod's node is drained; that node's own volumes wait for it.
import { until } from "../support/program.mjs";
import { bringBack, counted, endMover, running, startMover } from "./mover.mjs";
import { ON, WORKERS } from "./two-nodes.mjs";

const drain = (kube, node) =>
  kube.kubectl(
    ...["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=900s"],
  );

export async function drains(kube) {
  await startMover(kube);
  for (const turn of [1, 2]) {
    const { node } = await running(kube);
    const other = WORKERS.find((name) => name !== node);
    const before = await counted(kube, 20);
    await drain(kube, node);
    await until(`the pod to run on ${other}, turn ${turn}`, async () => (await running(kube)).node === other);
    await counted(kube, before + 10);
    await kube.kubectl("uncordon", node);
    await bringBack(kube, ON[node]);
    // Whoever was evicted is back, so that nothing hinders the next drain.
    await kube.kubectl(
      ...["-n", "mooring", "rollout", "status", "deployment/mooring-controller", "--timeout=900s"],
    );
  }
  await endMover(kube);
}
