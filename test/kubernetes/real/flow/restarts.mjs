// What a cluster is decided by, and what runs its pods, ends at once, under writes: pods do not notice, and what is asked afterwards
// is done.
import assert from "node:assert/strict";
import { readdir, readFile } from "node:fs/promises";
import { join } from "node:path";
import { until } from "../support/program.mjs";
import { killAll } from "./crashes.mjs";
import { claim, countNumbers, pod, snapshot } from "./objects.mjs";
import { ON } from "./two-nodes.mjs";

/** The folder that the pod has as /data, as its machine has it: to look into it when nobody responds to kubectl. */
async function dataOf(kube, name, workers) {
  const node = await kube.get(`pod/${name}`, "{.spec.nodeName}");
  const uid = await kube.get(`pod/${name}`, "{.metadata.uid}");
  const volume = await kube.get(`pvc/${name}`, "{.spec.volumeName}");
  const worker = workers.find((each) => each.name === node);
  return worker.at(`/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/${volume}/mount`);
}

const numbers = async (folder) => countNumbers(await readFile(join(folder, "numbers"), "utf8"));

/** Until each has written so many more. */
export async function writeOn(folders, more = 20) {
  for (const folder of folders) {
    const before = await numbers(folder);
    await until(`more numbers in ${folder}`, async () => (await numbers(folder)) > before + more);
  }
}

export const dataFolders = (kube, workers) =>
  Promise.all(Object.values(ON).map((name) => dataOf(kube, name, workers)));

/** Containers by which pods of Mooring have run, and how often they were started. */
export const containers = (kube) =>
  kube.kubectl(
    ...["-n", "mooring", "get", "pods", "--sort-by=.metadata.name", "-o"],
    'jsonpath={range .items[*]}{.metadata.name} {.status.containerStatuses[0].restartCount}{"\\n"}{end}',
  );

/** Lines of the logs of all controllers, read from the machines' disks. */
async function controllerLogs(workers) {
  const logs = [];
  for (const worker of workers) {
    const at = worker.at("/var/log/pods");
    for (const name of await readdir(at))
      if (name.startsWith("mooring_mooring-controller-"))
        for (const file of await readdir(join(at, name, "controller")))
          logs.push(await readFile(join(at, name, "controller", file), "utf8"));
  }
  return logs.join("");
}

const losses = async (workers) => (await controllerLogs(workers)).split("lost the lease").length;

/** A new volume, a pod that has it, and a copy of it: on each node. */
export async function everythingWorks(kube, name) {
  const made = Object.keys(ON).map((node) => ({ node, name: `${name}-${ON[node]}` }));
  await kube.apply(...made.map((each) => claim(each.name, "300Mi")));
  await kube.apply(
    ...made.map((each) => pod(each.name, { mounts: { "/data": each.name }, node: each.node })),
  );
  await kube.ready(...made.map((each) => each.name));
  await kube.apply(...made.map((each) => snapshot(each.name, each.name)));
  for (const each of made) await kube.shows(`volumesnapshot/${each.name}`, "{.status.readyToUse}", "true");
  await kube.delete(...made.flatMap((each) => [`pod/${each.name}`, `volumesnapshot/${each.name}`]));
  await kube.delete(...made.map((each) => `pvc/${each.name}`));
}

/** What was asked for just before it is done after it. */
export async function controlPlaneEnds(kube, workers) {
  const { programs } = kube.cluster;
  const data = await dataFolders(kube, workers);
  const before = await containers(kube);
  const lost = await losses(workers);
  await kube.apply(snapshot("asked-before", ON["worker-1"]));
  for (const program of Object.values(programs).reverse()) await program.end("SIGKILL");
  await writeOn(data);
  // So long that nobody leads any more.
  await until("the leader to have given up", async () => (await losses(workers)) > lost);
  await writeOn(data);
  programs.etcd.start();
  await kube.cluster.startApiServer();
  for (const name of ["kube-controller-manager", "kube-scheduler"]) programs[name].start();
  await kube.shows("volumesnapshot/asked-before", "{.status.readyToUse}", "true");
  await kube.delete("volumesnapshot/asked-before");
  await everythingWorks(kube, "after-etcd");
  await writeOn(data);
  assert.equal(await containers(kube), before, "a process of Mooring has ended");
}

/** What runs pods on the machines. */
export async function machinesProgramsEnd(kube, workers) {
  const data = await dataFolders(kube, workers);
  const before = await containers(kube);
  for (const worker of workers) for (const name of ["kubelet", "containerd"]) await worker.endProgram(name);
  await writeOn(data);
  for (const worker of workers) for (const name of ["containerd", "kubelet"]) await worker.startProgram(name);
  await everythingWorks(kube, "after-kubelets");
  await writeOn(data);
  assert.equal(await containers(kube), before, "a process of Mooring has ended");
}

export async function processesEnd(kube, workers) {
  const data = await dataFolders(kube, workers);
  for (const [command, target] of [
    ["node", "daemonset/mooring-node"],
    ["controller", "deployment/mooring-controller"],
  ]) {
    await killAll(kube, command, target);
    await writeOn(data);
    await everythingWorks(kube, `after-${command}`);
  }
  for (const name of Object.values(ON))
    assert.equal(await kube.get(`pod/${name}`, "{.status.containerStatuses[0].restartCount}"), "0");
}
