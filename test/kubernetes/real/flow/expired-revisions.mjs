// While Mooring's processes stand still, the API server starts anew and etcd forgets what was: every watch that they go on with is
// of a revision that nobody knows any more (410 Gone). Each reads anew, and does what was asked for meanwhile. Only the nodes'
// processes have such watches: whoever led has lost its lease meanwhile, and a new term begins with reading everything.
import assert from "node:assert/strict";
import { readRequests } from "../support/audit.mjs";
import { until } from "../support/program.mjs";
import { processesOf } from "./crashes.mjs";
import { snapshot } from "./objects.mjs";
import { containers, dataFolders, everythingWorks, writeOn } from "./restarts.mjs";
import { ON, WORKERS } from "./two-nodes.mjs";

/** Of the whole store: that of the last change. */
async function revision(kube) {
  const list = await kube.kubectl("get", "--raw", "/api/v1/namespaces?limit=1");
  return Number(JSON.parse(list).metadata.resourceVersion);
}

/** What etcd had before is gone. */
async function compact({ etcd }, at) {
  const body = JSON.stringify({ revision: String(at), physical: true });
  const response = await fetch(`${etcd}/v3/kv/compaction`, { method: "POST", body });
  assert.equal(response.status, 200, await response.text());
}

/** The server says so of a watch that goes on there. */
async function isGone(kube, at) {
  const path = `/api/v1/persistentvolumeclaims?watch=1&timeoutSeconds=5&resourceVersion=${at}`;
  const response = await kube.kubectl("get", "--raw", path).catch((error) => String(error.stderr));
  assert.match(response, /410|Expired|too old resource version|required revision has been compacted/);
}

const podOf = ({ user }) => user?.extra?.["authentication.kubernetes.io/pod-name"]?.[0];
const resourceOf = ({ objectRef }) => `${objectRef.apiGroup ?? ""}/${objectRef.resource}`;
const asks = (request, verb) => request.verb === verb && request.objectRef?.resource !== undefined;

/** By pod: what it went on to watch from `old` or before, and whether it has listed that since. */
function expiredWatches(requests, old) {
  const found = new Map();
  for (const request of requests) {
    const pod = podOf(request);
    if (pod?.startsWith("mooring-node-") !== true) continue;
    const waiting = found.get(pod) ?? new Map();
    found.set(pod, waiting);
    const resource = resourceOf({ objectRef: {}, ...request });
    const from = Number(new URL(request.requestURI, "http://server").searchParams.get("resourceVersion"));
    if (asks(request, "watch") && from > 0 && from <= old) waiting.set(resource, false);
    else if (asks(request, "list") && waiting.has(resource)) waiting.set(resource, true);
  }
  return found;
}

/** `workers`: the machines whose pods write meanwhile. */
export async function revisionsExpire(kube, workers) {
  const { programs, audit } = kube.cluster;
  const data = await dataFolders(kube, workers);
  const before = await containers(kube);
  const from = (await readRequests(audit.file)).length;
  const old = await revision(kube);
  const paused = [...(await processesOf("node")), ...(await processesOf("controller"))];
  assert.ok(paused.length >= 4, `${paused.length} processes of Mooring`);
  for (const pid of paused) process.kill(pid, "SIGSTOP");
  try {
    // The server that begins anew knows what is now: that has to be later than what the processes have seen.
    for (const verb of ["create", "delete"]) await kube.kubectl(verb, "configmap", "passes-by");
    await programs["kube-apiserver"].end("SIGKILL");
    await kube.cluster.startApiServer();
    for (const name of ["kube-controller-manager", "kube-scheduler"])
      if (!programs[name].alive) programs[name].start();
    await kube.apply(snapshot("asked-meanwhile", ON["worker-1"]));
    await compact(kube.cluster, await revision(kube));
    await isGone(kube, old);
  } finally {
    for (const pid of paused) process.kill(pid, "SIGCONT");
  }
  await kube.shows("volumesnapshot/asked-meanwhile", "{.status.readyToUse}", "true");
  await kube.delete("volumesnapshot/asked-meanwhile");
  await until("both nodes to have read anew", async () => {
    const found = expiredWatches((await readRequests(audit.file)).slice(from), old);
    const all = [...found].flatMap(([pod, watches]) => [...watches].map((each) => [pod, ...each]));
    const unread = all.filter(([, , read]) => !read);
    if (unread.length > 0)
      throw new Error(`not read anew: ${unread.map(([pod, what]) => `${pod}: ${what}`)}`);
    return new Set(all.map(([pod]) => pod)).size === WORKERS.length;
  });
  await everythingWorks(kube, "after-gone");
  await writeOn(data);
  assert.equal(await containers(kube), before, "a process of Mooring has ended");
}
