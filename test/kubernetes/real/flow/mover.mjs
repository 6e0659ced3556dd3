// A pod that counts on a volume of the pool that both nodes have: it goes on with its numbers wherever it is made anew.
import assert from "node:assert/strict";
import { until } from "../support/program.mjs";
import { COUNT_ON, claim, countNumbers, pod } from "./objects.mjs";
import { counter } from "./two-nodes.mjs";

const SELECTOR = "app=mover";
const CLAIM = "moving";

function deployment(name, template, tolerations) {
  const labels = { app: name };
  return {
    ...{ apiVersion: "apps/v1", kind: "Deployment", metadata: { name } },
    spec: {
      ...{ replicas: 1, strategy: { type: "Recreate" }, selector: { matchLabels: labels } },
      template: { metadata: { labels }, spec: { ...template.spec, tolerations, restartPolicy: "Always" } },
    },
  };
}

/** `tolerations`: of its pod. Resolves when it runs. */
export async function startMover(kube, tolerations = []) {
  const template = pod("mover", { mounts: { "/data": CLAIM }, run: COUNT_ON });
  const size = { storageClassName: "fast" };
  await kube.apply(claim(CLAIM, "300Mi", size), deployment("mover", template, tolerations));
  await kube.kubectl("rollout", "status", "deployment/mover", "--timeout=900s");
}

/** The pod that runs, and where; neither has a name when there is none. */
export async function running(kube) {
  const path =
    '{range .items[?(@.status.phase=="Running")]}{.metadata.name} {.spec.nodeName} {.metadata.deletionTimestamp}{"\\n"}{end}';
  const lines = (await kube.kubectl("get", "pods", "-l", SELECTOR, "-o", `jsonpath=${path}`)).trim();
  const stays = lines.split("\n").map((line) => line.split(" "));
  const [name = "", node = ""] = stays.find(([, , leaving = ""]) => leaving === "") ?? [];
  return { name, node };
}

/** Every number once, in order; there are more than `least`. */
export async function counted(kube, least) {
  return until("the pod to have written on", async () => {
    const { name } = await running(kube);
    const count = countNumbers(await kube.sh(name, "cat /data/numbers"));
    return count > least ? count : undefined;
  });
}

export async function endMover(kube) {
  await kube.delete("deployment/mover");
  await kube.delete(`pvc/${CLAIM}`);
}

/** Pods that nobody manages are gone with their node; they find their volumes when they are made anew. */
export async function bringBack(kube, name) {
  await kube.apply(counter(name));
  await kube.ready(name);
  assert.equal(await kube.sh(name, "cd /data && md5sum -c sum"), "file: OK");
  countNumbers(await kube.sh(name, "cat /data/numbers"));
}
