// The first process of a machine of its own: a whole cluster with one node, Mooring by its manifests and its image, and other
// pods. `node cluster.mjs FOLDER BIN CGROUP`.
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { ROOT } from "../../../scripts/lib/setup.mjs";
import { attachesAnew } from "./flow/attachments.mjs";
import { readOnlyVolumes, topologies } from "./flow/by-hand.mjs";
import { crashes } from "./flow/crashes.mjs";
import { repeatsOrUndoes, repeatsWhatExceeds, waitsWhileBusy } from "./flow/failed-calls.mjs";
import { groups } from "./flow/groups.mjs";
import { needsClaim } from "./flow/in-line.mjs";
import { takeDataAway, uninstall } from "./flow/leave.mjs";
import { countsUsers, neverTooEarly } from "./flow/node-calls.mjs";
import { nodesContainer } from "./flow/node-container.mjs";
import { onlyPublishes, passesSecrets, startDrivers, stopDrivers } from "./flow/other-drivers.mjs";
import { page } from "./flow/page.mjs";
import { atRest, haveRestAsked } from "./flow/rest.mjs";
import { changeAttributes, copies, growOnline, statistics, writeAndRead } from "./flow/volumes.mjs";
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

/** What has to be done for a pod to write to its claim. */
const WRITTEN = [
  ...["CSI-146", "CSI-248", "CSI-253", "CSI-282", "CSI-284", "CSI-308", "CSI-314", "CSI-339"],
  ...["K8S-001", "K8S-003", "K8S-007", "K8S-008", "K8S-011", "K8S-012", "K8S-023", "K8S-024", "K8S-030"],
  ...["K8S-032", "K8S-043", "K8S-062", "K8S-064", "K8S-091", "K8S-098", "K8S-099", "K8S-100", "K8S-101"],
];
/** What has to be done for nothing of a volume to be left: it is not deleted while it is published, staged or attached. */
const TAKEN_AWAY = [
  ...["CSI-008", "CSI-009", "CSI-261", "CSI-264", "CSI-293", "CSI-294"],
  ...["K8S-006", "K8S-033", "K8S-042", "K8S-051", "K8S-052", "K8S-070", "K8S-079", "K8S-102"],
];
/** What has to be done for a volume to be staged once, and for each call of its end to be repeated until it is done, before the next. */
const USED_BY_SEVERAL = ["CSI-164", "CSI-262", "CSI-267", "K8S-050", "K8S-067", "K8S-068", "K8S-105"];

/** What Kubernetes makes of drivers that can less than ours, or fail when a test wants them to. */
async function otherDrivers() {
  const drivers = await timed("drivers of another vendor", () => startDrivers(kube));
  // Each has volumes of its own, and waits most of the time.
  await Promise.all([
    timed("a driver that only publishes", () => onlyPublishes(kube, drivers), ["CSI-011", "K8S-104"]),
    timed("secrets that a volume names", () => passesSecrets(kube, drivers), ["K8S-116", "K8S-117"]),
    timed("calls that fail", () => repeatsOrUndoes(kube, drivers), ["CSI-252", "CSI-271"]),
    timed("a driver that is busy", () => waitsWhileBusy(kube, drivers), ["CSI-298"]),
    timed("a volume for one pod at a time", () => repeatsWhatExceeds(kube, drivers)),
    timed("an attachment that goes while a pod comes", () => attachesAnew(kube, drivers), [
      ...["K8S-040", "K8S-077", "K8S-078"],
    ]),
  ]);
  await timed("they leave", () => stopDrivers(kube, drivers));
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
  await timed("write and read, not as root", () => writeAndRead(kube), WRITTEN);
  await timed("another VolumeAttributesClass while it is written", () => changeAttributes(kube));
  await timed("statistics", () => statistics(kube));
  await timed("the node's container", () => nodesContainer(kube), ["CSI-337", "K8S-089"]);
  await timed("read-only volumes", () => readOnlyVolumes(kube), [
    ...["CSI-254", "CSI-283", "K8S-041", "K8S-061"],
  ]);
  await timed("topologies by hand", () => topologies(kube), ["K8S-095", "K8S-096"]);
  // Before calls fail on purpose.
  await timed("no call too early", () => neverTooEarly(kube), ["CSI-249", "CSI-250", "CSI-269", "K8S-103"]);
  await timed("pods of one volume, which end one by one", () => countsUsers(kube), USED_BY_SEVERAL);
  await timed("a pod without a claim", () => needsClaim(kube), ["K8S-063"]);
  await otherDrivers();
  await timed("growth while it is written", () => growOnline(kube));
  await timed("snapshots and clones", () => copies(kube), ["CSI-255"]);
  await timed("group snapshot and restore", () => groups(kube));
  await timed("kill -9 of the node's process and the controller", () => crashes(kube));
  await timed("claims go", () => takeDataAway(kube), TAKEN_AWAY);
  await timed("nothing sleeps", () => atRest(kube));
  await timed("rights", () => evaluateRights(cluster));
  await timed("uninstall", () => uninstall(kube));
  await timed("the commands of the page", () => page(kube, join(folder, "containerd", "containerd.sock")));
} catch (error) {
  await explain(cluster);
  throw error;
}
process.exit(0);
