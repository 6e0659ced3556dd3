// Two machines that are a cluster's nodes, and Mooring on them by its chart and its image.
import { CHART } from "../../../../scripts/lib/manifests.mjs";
import { WORKERS } from "../flow/two-nodes.mjs";
import { admit } from "./node.mjs";
import { Worker } from "./worker.mjs";

/** Of the machine that the control plane is on, in the network of all three. */
export const ADDRESS = "10.250.0.1";

/** `settings`: of machine.mjs, without the node and the folder of logs. Resolves when both are ready nodes. */
export async function startWorkers(cluster, settings) {
  const workers = [];
  for (const [index, name] of WORKERS.entries()) {
    const place = { name, address: `10.250.0.${11 + index}`, subnet: `10.244.${1 + index}.0/24` };
    const node = await admit(cluster, place);
    const worker = new Worker(node, { ...settings, logs: cluster.logs });
    await worker.plugIn(ADDRESS);
    workers.push(worker);
  }
  await Promise.all(workers.map((worker) => worker.start()));
  return workers;
}

/** The chart, or another one, with its own values but for these, and for what two machines with one kernel cannot have. */
export async function installOn(kube, helm, values, chart = CHART) {
  // The kernel shows files of both by their paths only; each Worker has the same as its stateFolder.
  const apart = "node.extraArgs[0]=--state-dir=/var/lib/mooring/$(NODE_NAME)";
  const set = [apart, ...values].flatMap((value) => ["--set", value]);
  await helm("install", "mooring", chart, "--create-namespace", ...set, "--wait", "--timeout=15m");
  for (const name of WORKERS)
    await kube.shows(`csinode/${name}`, "{.spec.drivers[*].name}", "csi.mooring.dev");
}
