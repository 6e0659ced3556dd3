// One volume for pods on both nodes. The kernel of the tests mounts no NFS, so what the second node would mount is read and written
// by a client that needs no kernel, from that node's address; a pod there waits, and its events say why.
import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { promisify } from "node:util";
import { until } from "../support/program.mjs";
import { claim, pod } from "./objects.mjs";

const execute = promisify(execFile);
const SUM = "cd /data && md5sum -c sum";
const FILL = "dd if=/dev/urandom of=/data/file bs=1M count=8 2>&1; cd /data; md5sum file >sum; sync";

/** Where a file of the share is, for libnfs. */
function urlOf(endpoint, file) {
  const { hostname, port, pathname } = new URL(endpoint);
  return `nfs://${hostname}${pathname}/${file}?version=4&nfsport=${port}`;
}

/** Two pods on one node have the file system itself. */
async function onOneNode(kube) {
  await kube.apply(
    claim("common", "300Mi", { accessModes: ["ReadWriteMany"] }),
    pod("teller", { mounts: { "/data": "common" }, node: "worker-1" }),
    pod("listener", { mounts: { "/data": "common" }, node: "worker-1" }),
  );
  await kube.ready("teller", "listener");
  await kube.sh("teller", FILL);
  assert.equal(await kube.sh("listener", SUM), "file: OK");
}

async function overTheNetwork(kube, { share, client, folder }) {
  await kube.apply(pod("far", { mounts: { "/data": "common" }, node: "worker-2" }));
  await kube.shows(share, "{.status.endpoint}", /^nfs:\/\/10\.250\.0\.11:\d+\//);
  await kube.shows(share, "{.status.users}", /worker-2/);
  const endpoint = await kube.get(share, "{.status.endpoint}");
  const copy = join(folder, "copy");
  const fetched = () => client.run("nfs-cp", urlOf(endpoint, "file"), copy).then(() => true);
  await until("the second node to read the share", fetched);
  const { stdout } = await execute("md5sum", [copy]);
  assert.equal(stdout.split(" ")[0], (await kube.sh("teller", "cat /data/sum")).split(" ")[0]);
  const written = join(folder, "written");
  await writeFile(written, "by the second node");
  await client.run("nfs-cp", written, urlOf(endpoint, "back"));
  assert.equal(await kube.sh("listener", "cat /data/back"), "by the second node");
  // This machine is in the trusted network as well, but no pod on it has the volume.
  await assert.rejects(
    execute("timeout", ["60", "nfs-cat", urlOf(endpoint, "sum")]),
    /NFS4ERR_(NOENT|ACCESS)/,
  );
}

export async function shares(kube, workers) {
  if (/\bnfs4\b/.test(await readFile("/proc/filesystems", "utf8")))
    throw new Error("this kernel mounts NFS: let pods on both nodes check the volume here");
  await onOneNode(kube);
  const volume = await kube.get("pvc/common", "{.spec.volumeName}");
  const share = `sharemanagers.storage.mooring.dev/${await kube.get(`pv/${volume}`, "{.spec.csi.volumeHandle}")}`;
  const client = workers.find(({ name }) => name === "worker-2");
  await overTheNetwork(kube, { share, client, folder: kube.cluster.folder });
  await until("the second node's pod to say what it lacks", async () =>
    /cannot mount NFS/.test(await kube.kubectl("describe", "pod/far")),
  );
  await kube.delete("pod/far");
  // The server goes with the last of the others.
  await kube.shows(share, "{.status.endpoint}", "");
  assert.equal(await kube.sh("listener", SUM), "file: OK");
  await kube.delete("pod/teller", "pod/listener", "pvc/common");
  // The kubelet has unmounted what the serving node has mounted as well, and all of it has gone.
  await kube.kubectl("wait", "--for=delete", `pv/${volume}`, share, "--timeout=900s");
}
