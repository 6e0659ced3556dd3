// The first process of a machine of its own: a whole cluster with one node, Mooring by its manifests and its image, and people's
// pods. `node cluster.mjs FOLDER BIN CGROUP`.
import { mkdir, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { crashes } from "./flow/crashes.mjs";
import { groups } from "./flow/groups.mjs";
import { takeDataAway, uninstall } from "./flow/leave.mjs";
import { copies, growOnline, statistics, writeAndRead } from "./flow/volumes.mjs";
import { evaluateRights } from "./rights.mjs";
import { startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish, NODE_ADDRESS } from "./support/namespaces.mjs";
import { startNode } from "./support/node.mjs";

const [folder, bin, cgroup] = process.argv.slice(2);
const say = (text) => process.stdout.write(`${text}\n`);

async function timed(name, run) {
  const from = Date.now();
  const result = await run();
  say(`  ${name}: ${((Date.now() - from) / 1000).toFixed(1)} s`);
  return result;
}

async function install(kube) {
  await kube.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
  await kube.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=60s");
  await kube.kubectl("create", "namespace", "mooring");
  await kube.kubectl("apply", "-f", join(ROOT, "deploy/manifests"));
  for (const target of ["daemonset/mooring-node", "deployment/mooring-controller"])
    await kube.kubectl("-n", "mooring", "rollout", "status", target, "--timeout=240s");
}

/** What an operator would read first. */
async function explain(cluster) {
  const save = async (name, ...args) =>
    writeFile(join(cluster.logs, `${name}.txt`), await cluster.kubectl(...args).catch(String));
  await save(
    "objects",
    "get",
    "all,pvc,pv,volumesnapshots,volumeattachments.storage.k8s.io",
    "-A",
    "-o",
    "wide",
  );
  await save("events", "get", "events", "-A");
  await save("pods", "describe", "pods", "-A");
  await save("node-log", "-n", "mooring", "logs", "daemonset/mooring-node", "--tail=2000");
  await save(
    "controller-log",
    "-n",
    "mooring",
    "logs",
    "-l",
    "app.kubernetes.io/component=controller",
    "--tail=2000",
  );
  say(`its state: ${cluster.logs}`);
}

await furnish(folder);
await mkdir("/var/lib/kubelet", { recursive: true });
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: NODE_ADDRESS }));
const kube = new Kube(cluster);
const images = ["mooring.tar", "busybox.tar"].map((name) => join(folder, name));
try {
  await timed("containerd and kubelet", () => startNode(cluster, { bin, images, cgroup }));
  await timed("install", () => install(kube));
  await timed("write and read, not as root", () => writeAndRead(kube));
  await timed("statistics", () => statistics(kube));
  await timed("growth while it is written", () => growOnline(kube));
  await timed("snapshots and clones", () => copies(kube));
  await timed("group snapshot and restore", () => groups(kube));
  await timed("kill -9 of the node's process and the controller", () => crashes(kube));
  await timed("claims go", () => takeDataAway(kube));
  await timed("rights", () => evaluateRights(cluster, say));
  await timed("uninstall", () => uninstall(kube));
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
