// In which order the kubelet calls the driver, and how often: by its own counts, by what is mounted, and by what it does while the
// driver cannot unmount.
import assert from "node:assert/strict";
import { open, stat } from "node:fs/promises";
import { join } from "node:path";
import { readRequests } from "../support/audit.mjs";
import { until } from "../support/program.mjs";
import { HERE, mountsOfVolumes } from "../support/traces.mjs";
import { claim, pod } from "./objects.mjs";

const COUNTED = /^csi_operations_seconds_count\{([^}]*)\} (\S+)$/gm;
const label = (labels, name) => new RegExp(`${name}="([^"]*)"`).exec(labels)?.[1] ?? "";
const PODS = ["together-1", "together-2", "together-3"];
const STAGED = ["NodeStageVolume", "NodePublishVolume", "NodeUnpublishVolume", "NodeUnstageVolume"];

/** How often the kubelet has called the driver: `Map("NodeStageVolume OK" => 3)`. */
export async function nodeCalls(kube) {
  const node = await kube.kubectl("get", "nodes", "-o", "jsonpath={.items[0].metadata.name}");
  const text = await kube.kubectl("get", "--raw", `/api/v1/nodes/${node}/proxy/metrics`);
  const calls = new Map();
  for (const [, labels, count] of text.matchAll(COUNTED)) {
    if (label(labels, "driver_name") !== "csi.mooring.dev") continue;
    const method = label(labels, "method_name").split("/").at(-1);
    calls.set(`${method} ${label(labels, "grpc_status_code")}`, Number(count));
  }
  return calls;
}

/** Since then: of a method, with a code or with any other. */
async function since(kube, before) {
  const now = await nodeCalls(kube);
  const more = (key) => (now.get(key) ?? 0) - (before.get(key) ?? 0);
  const done = (method) => more(`${method} OK`);
  const of = (method) => [...now.keys()].filter((key) => key.startsWith(`${method} `));
  const failed = (method) => of(method).reduce((sum, key) => sum + more(key), 0) - done(method);
  return { done, failed };
}

/** Called too early or with what it may not say: the driver refuses both, so none of it was. */
export async function neverTooEarly(kube) {
  const calls = [...(await nodeCalls(kube))].map(([key, count]) => `${key}: ${count}`);
  for (const method of STAGED)
    assert.ok(
      calls.some((line) => line.startsWith(`${method} OK: `)),
      `no ${method}:\n${calls.join("\n")}`,
    );
  const refused = calls.filter((line) => /(FailedPrecondition|InvalidArgument|AlreadyExists): /.test(line));
  assert.deepEqual(refused, []);
}

const ATTACHMENTS =
  '{range .items[*]}{.spec.source.persistentVolumeName} {.metadata.name} {.status.attached}{.metadata.deletionTimestamp}{"\\n"}{end}';

/** Its name and its state: "true" while nobody has asked for its end. Undefined: there is none. */
async function attachmentOf(kube, volume) {
  const list = await kube.kubectl("get", "volumeattachments.storage.k8s.io", "-o", `jsonpath=${ATTACHMENTS}`);
  const rows = list.split("\n").map((line) => line.split(" "));
  const row = rows.find(([of]) => of === volume);
  return row && { name: row[1], state: row[2] };
}

const folderOf = (uid, volume) => `/var/lib/kubelet/pods/${uid}/volumes/kubernetes.io~csi/${volume}`;
const isGone = (path) =>
  stat(path).then(
    () => false,
    ({ code }) => code === "ENOENT",
  );

/** Where a volume is published and staged on this machine. */
async function placesOf(volume) {
  const lines = mountsOfVolumes(await HERE.mounts()).map((line) => line.split(" "));
  const published = lines.map((line) => line[4] ?? "").filter((at) => at.endsWith(`/${volume}/mount`));
  const device = lines.find((line) => line[4] === published[0])?.[2];
  const staged = lines.filter((line) => line[2] === device && /\/globalmount$/.test(line[4]));
  return { published: published.sort(), staged: staged.map((line) => line[4]) };
}

/** Three pods of one volume start, and end one by one: it is staged before the first and unstaged after the last. */
export async function countsUsers(kube) {
  const before = await nodeCalls(kube);
  await kube.apply(
    claim("together", "64Mi"),
    ...PODS.map((name) => pod(name, { mounts: { "/data": "together" } })),
  );
  await kube.ready(...PODS);
  const volume = await kube.get("pvc/together", "{.spec.volumeName}");
  const folders = {};
  for (const name of PODS) folders[name] = folderOf(await kube.get(`pod/${name}`, "{.metadata.uid}"), volume);
  const targets = (...names) => names.map((name) => join(folders[name], "mount")).sort();
  const places = await placesOf(volume);
  assert.deepEqual(places.published, targets(...PODS));
  assert.equal(places.staged.length, 1);
  await kube.sh("together-1", "echo seen >/data/file; sync");
  await kube.delete("pod/together-2");
  await until("the folder of the pod that left to be gone", () => isGone(folders["together-2"]));
  assert.deepEqual((await placesOf(volume)).published, targets("together-1", "together-3"));
  assert.equal(await kube.sh("together-3", "cat /data/file"), "seen");
  await kube.delete("pod/together-3");
  const attachment = await attachmentOf(kube, volume);
  await endsInOrder(kube, {
    before,
    volume,
    target: join(folders["together-1"], "mount"),
    staged: places.staged[0],
  });
  const { done } = await since(kube, before);
  assert.deepEqual(STAGED.map(done), [1, 3, 3, 1]);
  await keptUntilDetached(kube, attachment.name);
  await kube.delete("pvc/together");
}

/** What the driver cannot unmount, as somebody has a file of it open, the kubelet asks for again, and for nothing that comes after. */
async function endsInOrder(kube, { before, volume, target, staged }) {
  const failures = (method) =>
    until(`${method} to be repeated`, async () => (await since(kube, before)).failed(method) >= 2);
  const isAttached = async () => assert.equal((await attachmentOf(kube, volume))?.state, "true");
  const [inPod, inStaging] = [await open(join(target, "file")), await open(join(staged, "file"))];
  try {
    await kube.kubectl("delete", "pod/together-1", "--wait=false");
    await failures("NodeUnpublishVolume");
    const { done, failed } = await since(kube, before);
    assert.equal(done("NodeUnstageVolume") + failed("NodeUnstageVolume"), 0);
    await isAttached();
    await inPod.close();
    await failures("NodeUnstageVolume");
    await isAttached();
  } finally {
    await inPod.close();
    await inStaging.close();
  }
  await until("the volume to be detached", async () => (await attachmentOf(kube, volume)) === undefined);
}

/** After its deletion was asked for, the attacher still wrote to it: it had waited for its finalizer. */
async function keptUntilDetached({ cluster }, name) {
  const requests = (await readRequests(cluster.audit.file)).filter(
    ({ objectRef, responseStatus }) =>
      objectRef?.resource === "volumeattachments" && objectRef.name === name && responseStatus?.code === 200,
  );
  const deleted = requests.findIndex(({ verb }) => verb === "delete");
  assert.notEqual(deleted, -1, "nobody has deleted it");
  const after = requests
    .slice(deleted + 1)
    .filter(({ userAgent, verb }) => userAgent === "mooring" && /^(patch|update)$/.test(verb));
  assert.notDeepEqual(after, [], "it was gone at once");
}
