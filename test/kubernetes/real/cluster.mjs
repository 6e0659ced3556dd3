// The first process of a machine of its own: a whole cluster with one node, Mooring by its manifests and its image, and other
// pods. `node cluster.mjs FOLDER BIN CGROUP`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { crashes } from "./flow/crashes.mjs";
import { groups } from "./flow/groups.mjs";
import { takeDataAway, uninstall } from "./flow/leave.mjs";
import { page } from "./flow/page.mjs";
import { atRest, haveRestAsked } from "./flow/rest.mjs";
import { copies, growOnline, statistics, writeAndRead } from "./flow/volumes.mjs";
import { evaluateRights } from "./rights.mjs";
import { SERVICE_ADDRESS, startControlPlane } from "./support/control-plane.mjs";
import { Kube } from "./support/kube.mjs";
import { furnish } from "./support/namespaces.mjs";
import { admit, startNode } from "./support/node.mjs";
import { explain, timed } from "./support/report.mjs";

const [folder, bin, cgroup] = process.argv.slice(2);

async function install(kube) {
  await kube.kubectl("apply", "--server-side", "-f", join(ROOT, "deploy/crds"));
  await kube.kubectl("wait", "--for=condition=Established", "crd", "--all", "--timeout=900s");
  await kube.kubectl("create", "namespace", "mooring");
  await kube.kubectl("apply", "-f", join(ROOT, "deploy/manifests"));
  await haveRestAsked(kube);
  for (const target of ["daemonset/mooring-node", "deployment/mooring-controller"])
    await kube.kubectl("-n", "mooring", "rollout", "status", target, "--timeout=900s");
}

const ADDRESS = "10.250.0.1";
const SUBNET = "10.244.1.0/24";

await furnish(folder, { hostname: "worker-1", addresses: [ADDRESS, SERVICE_ADDRESS] });
await mkdir("/var/lib/kubelet", { recursive: true });
const cluster = await timed("control plane", () => startControlPlane({ folder, bin, address: ADDRESS }));
const kube = new Kube(cluster);
const images = ["mooring.tar", "busybox.tar"].map((name) => join(folder, name));
try {
  const node = await admit(cluster, { name: "worker-1", address: ADDRESS, subnet: SUBNET });
  const { logs } = cluster;
  await timed("containerd and kubelet", () => startNode(node, { folder, logs, bin, images, cgroup }));
  await timed("install", () => install(kube));
  await timed("write and read, not as root", () => writeAndRead(kube), [
    ...["CSI-308", "CSI-339", "K8S-003", "K8S-012", "K8S-091"],
  ]);
  await timed("statistics", () => statistics(kube));
  await timed("growth while it is written", () => growOnline(kube));
  await timed("snapshots and clones", () => copies(kube));
  await timed("group snapshot and restore", () => groups(kube));
  await timed("kill -9 of the node's process and the controller", () => crashes(kube));
  await timed("claims go", () => takeDataAway(kube));
  await timed("nothing sleeps", () => atRest(kube));
  await timed("rights", () => evaluateRights(cluster));
  await timed("uninstall", () => uninstall(kube));
  await timed("the commands of the page", () => page(kube, join(folder, "containerd", "containerd.sock")));
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
