// Another version of the chart and of the image, and back, with volumes in use: every process is another one, and pods write on.
import assert from "node:assert/strict";
import { cp, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { CHART } from "../../../../scripts/lib/manifests.mjs";
import { dataFolders, everythingWorks, writeOn } from "./restarts.mjs";
import { ON } from "./two-nodes.mjs";

const NEXT = "0.1.1";

/** This chart with the number of the next version. */
async function nextChart(folder) {
  const chart = join(folder, "chart");
  await cp(CHART, chart, { recursive: true, dereference: true });
  const file = join(chart, "Chart.yaml");
  const text = await readFile(file, "utf8");
  await writeFile(file, text.replace(/^(version|appVersion): .*$/gm, `$1: "${NEXT}"`));
  return chart;
}

const images = (kube) =>
  kube.kubectl("-n", "mooring", "get", "pods", "-o", "jsonpath={.items[*].spec.containers[0].image}");

async function changed(kube, { to, data }) {
  for (const target of ["daemonset/mooring-node", "deployment/mooring-controller"])
    await kube.kubectl("-n", "mooring", "rollout", "status", target, "--timeout=240s");
  for (const image of (await images(kube)).split(" ")) assert.match(image, new RegExp(`:${to}$`));
  await writeOn(data);
  await everythingWorks(kube, `with-${to.replaceAll(".", "-")}`);
  for (const name of Object.values(ON))
    assert.equal(await kube.get(`pod/${name}`, "{.status.containerStatuses[0].restartCount}"), "0");
}

export async function upgrades(kube, helm, workers) {
  const data = await dataFolders(kube, workers);
  const now = (await images(kube)).split(" ")[0].split(":").at(-1);
  for (const worker of workers) {
    const socket = join(worker.folder, "containerd", "containerd.sock");
    const name = "docker.io/library/mooring";
    await worker.run(
      "ctr",
      "-a",
      socket,
      "-n",
      "k8s.io",
      "images",
      "tag",
      `${name}:${now}`,
      `${name}:${NEXT}`,
    );
  }
  await helm(
    "upgrade",
    "mooring",
    await nextChart(kube.cluster.folder),
    "--reuse-values",
    "--wait",
    "--timeout=5m",
  );
  await changed(kube, { to: NEXT, data });
  await helm("rollback", "mooring", "--wait", "--timeout=5m");
  await changed(kube, { to: now, data });
}
