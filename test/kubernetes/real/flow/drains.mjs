// A volume of a pool that both nodes have goes with its pod when the pod's node is drained; that node's own volumes wait for it.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import { COUNT_ON, claim, countNumbers, pod } from "./objects.mjs";
import { counter, ON, WORKERS } from "./two-nodes.mjs";

function deployment(name, template) {
  const labels = { app: name };
  const { containers, ...spec } = template.spec;
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name } },
    spec: {
      ...{ replicas: 1, strategy: { type: "Recreate" }, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { ...spec, containers, restartPolicy: "Always" } },
    },
  };
}

/** The pod of the deployment that runs, and where. */
async function running(kube) {
  const path =
    '{range .items[?(@.status.phase=="Running")]}{.metadata.name} {.spec.nodeName} {.metadata.deletionTimestamp}{"\\n"}{end}';
  const lines = (await kube.kubectl("get", "pods", "-l", "app=mover", "-o", `jsonpath=${path}`)).trim();
  const [name, node, leaving] = lines.split("\n")[0].split(" ");
  return leaving === undefined || leaving === "" ? { name, node } : { name: "", node: "" };
}

/** Every number once, in order; there are more than `least`. */
async function counted(kube, least) {
  return until("the pod to have written on", async () => {
    const { name } = await running(kube);
    const count = countNumbers(await kube.sh(name, "cat /data/numbers"));
    return count > least ? count : undefined;
  });
}

const drain = (kube, node) =>
  kube.kubectl(
    ...["drain", node, "--ignore-daemonsets", "--delete-emptydir-data", "--force", "--timeout=240s"],
  );

/** Pods that nobody manages are gone after a drain; they find their volumes when they are made anew. */
async function bringBack(kube, name) {
  await kube.apply(counter(name));
  await kube.ready(name);
  assert.equal(await kube.sh(name, "cd /data && md5sum -c sum"), "file: OK");
  countNumbers(await kube.sh(name, "cat /data/numbers"));
}

export async function drains(kube) {
  await kube.apply(
    claim("moving", "300Mi", { storageClassName: "fast" }),
    deployment("mover", pod("mover", { mounts: { "/data": "moving" }, run: COUNT_ON })),
  );
  await kube.kubectl("rollout", "status", "deployment/mover", "--timeout=240s");
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
      "-n",
      "mooring",
      "rollout",
      "status",
      "deployment/mooring-controller",
      "--timeout=240s",
    );
  }
  await kube.delete("deployment/mover");
  await kube.delete("pvc/moving");
}
