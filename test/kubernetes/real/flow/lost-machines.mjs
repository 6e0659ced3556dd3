// A machine is lost while its pod writes: the volume goes on elsewhere with everything that was on disk, once nobody there can
// write any more. The machine comes back, and its old pod has changed nothing.
import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/program.mjs";
import { processesOf } from "./crashes.mjs";
import { bringBack, counted, endMover, running, startMover } from "./mover.mjs";
import { countNumbers, pod } from "./objects.mjs";
import { everythingWorks } from "./restarts.mjs";
import { ON, WORKERS } from "./two-nodes.mjs";

const TAINT = "node.kubernetes.io/out-of-service";
/** So that another pod is made as soon as Kubernetes knows that the node is silent, not five minutes later. */
const AT_ONCE = ["unreachable", "not-ready"].map((why) => ({
  ...{ key: `node.kubernetes.io/${why}`, operator: "Exists", effect: "NoExecute", tolerationSeconds: 1 },
}));

/** Nothing reaches the machine, and what runs on it runs on. */
const CUT_OFF = {
  name: "cut off",
  lose: (worker) => worker.cutOff(),
  bringBack: (worker) => worker.connect(),
};

/** Kubelet and Mooring's process end without a word, the kubelet first: nobody starts the other one anew. Pods run on. */
const PROCESSES_GONE = {
  name: "processes gone",
  async lose(worker) {
    await worker.endProgram("kubelet");
    for (const pid of await processesOf("node", worker.at("/proc")))
      await worker.run("kill", "-KILL", String(pid));
  },
  bringBack: (worker) => worker.startProgram("kubelet"),
};

/** The file that the pod writes, as its machine has it. */
async function fileOf(kube, { name }, worker) {
  const uid = await kube.get(`pod/${name}`, "{.metadata.uid}");
  const volume = await kube.get("pvc/moving", "{.spec.volumeName}");
  const at = `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/${volume}/mount`;
  return { volume, path: worker.at(join(at, "numbers")) };
}

/** How many numbers were on disk when no more could be written: the last that was seen may not have been. */
async function untilNobodyWrites(path) {
  let seen = 0;
  await until("the lost machine's device to be disconnected", async () => {
    const text = await readFile(path, "utf8").catch(({ code }) => code);
    if (text === "EIO") return true;
    seen = countNumbers(text);
    return false;
  });
  return seen - 1;
}

const nodeReady = (kube, node, wanted) =>
  kube.shows(`node/${node}`, '{.status.conditions[?(@.type=="Ready")].status}', wanted);
const agentIs = (kube, node, wanted) =>
  kube.shows(`nodeagents.storage.mooring.dev/${node}`, "{.status.state}", wanted);

async function lost(kube, workers, { name, lose, bringBack: comeBack }) {
  const { node, ...old } = await running(kube);
  const worker = workers.find((each) => each.name === node);
  const other = WORKERS.find((each) => each !== node);
  const { path, volume } = await fileOf(kube, old, worker);
  const before = await counted(kube, 20);
  await lose(worker);
  const onDisk = await untilNobodyWrites(path);
  assert.ok(onDisk >= before, `${onDisk} numbers, where ${before} were on disk before`);
  await agentIs(kube, node, "Fenced");
  await nodeReady(kube, node, "Unknown");
  await kube.kubectl("taint", "node", node, `${TAINT}=nodeshutdown:NoExecute`);
  await until(`${name}: the pod to run on ${other}`, async () => (await running(kube)).node === other);
  const after = await counted(kube, onDisk + 10);
  await comeBack(worker);
  await nodeReady(kube, node, "True");
  await agentIs(kube, node, "Ready");
  // It is there before the kubelet has unmounted what the one before has left, and does not write as that may.
  await kube.apply(pod("early", { mounts: { "/data": ON[node] } }));
  await kube.kubectl("taint", "node", node, `${TAINT}-`);
  await until(
    `${name}: the old pod's volume to be unmounted`,
    async () => !(await worker.mounts()).some((line) => line.includes(volume)),
  );
  // Whatever the old pod had written would be between these.
  await counted(kube, after + 10);
  await kube.ready("early");
  await bringBack(kube, ON[node]);
  await kube.delete("pod/early");
  await kube.kubectl("-n", "mooring", "rollout", "status", "daemonset/mooring-node", "--timeout=900s");
  await kube.kubectl(
    ...["-n", "mooring", "rollout", "status", "deployment/mooring-controller", "--timeout=900s"],
  );
  await everythingWorks(kube, `after-${name.replace(" ", "-")}`);
}

export async function lostMachines(kube, workers) {
  await startMover(kube, AT_ONCE);
  for (const how of [CUT_OFF, PROCESSES_GONE]) await lost(kube, workers, how);
  await endMover(kube);
}
