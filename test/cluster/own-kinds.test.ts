import assert from "node:assert/strict";
import { after, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { thorough } from "../../packages/store/src/testing/sample.ts";
import type { MooringProcess } from "../csi/support/process.ts";
import { FOREIGN_KINDS } from "./support/foreign-kinds.ts";
import { leftOf } from "./support/left.ts";
import { PATIENT } from "./support/patience.ts";
import { ClusterProcesses } from "./support/processes.ts";

// What no pod is needed for, of Mooring's own kinds: on a real API server this is where the accounts' rights for them are used.
const NODE = "own-kinds";
const CLASS = "own-kinds";
const cluster = await ClusterProcesses.open(NODE);
const { kubectl } = cluster.server;
let controller: MooringProcess;
let node: MooringProcess;
after(() => cluster.close());

const classOf = (apiVersion: string, kind: string, spec: string) => `
---
apiVersion: ${apiVersion}
kind: ${kind}
metadata: {name: ${CLASS}}
${spec}
`;
const OF_DRIVER = "driver: csi.mooring.dev\ndeletionPolicy: Delete";
const CLASSES = [
  classOf("storage.k8s.io/v1", "StorageClass", "provisioner: csi.mooring.dev\nallowVolumeExpansion: true"),
  classOf("snapshot.storage.k8s.io/v1", "VolumeSnapshotClass", OF_DRIVER),
  classOf("groupsnapshot.storage.k8s.io/v1", "VolumeGroupSnapshotClass", OF_DRIVER),
  classOf("storage.mooring.dev/v1alpha1", "VolumeGroupClass", `${OF_DRIVER}\ndeleteMembers: "true"`),
].join("");
const claim = (name: string, app = "db") => `
---
apiVersion: v1
kind: PersistentVolumeClaim
metadata: {name: ${name}, namespace: default, labels: {own-kinds: ${app}}}
spec: {accessModes: [ReadWriteOnce], volumeMode: Block, storageClassName: ${CLASS}, resources: {requests: {storage: 8Mi}}}
`;
/** An object of this kind in the default namespace. */
const object = (kind: string, name: string, spec: object) =>
  kubectl.apply(
    JSON.stringify({
      ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind, metadata: { name, namespace: "default" } },
      spec,
    }),
  );
const isTrue = (target: string[], type: string) =>
  cluster.shows(target, `{.status.conditions[?(@.type=="${type}")].status}`, "True");
const bound = (name: string) => cluster.shows(["pvc", name], "{.status.phase}", "Bound");
const remove = (...targets: string[]) => kubectl.run("delete", ...targets, "--timeout=600s");

async function begin(): Promise<void> {
  for (const kind of FOREIGN_KINDS) await kubectl.apply(kind);
  controller = await cluster.startController();
  node = await cluster.startNode();
  const { kubelet, client } = await cluster.register(node);
  kubelet.close();
  client.close();
  await kubectl.apply(CLASSES);
}

/** Claims that are asked for together share the record of calls that are under way. */
async function groupWithItsMembers(): Promise<void> {
  await kubectl.apply(["data", "log", "third"].map((name) => claim(name)).join(""));
  for (const name of ["data", "log", "third"]) await bound(name);
  await object("VolumeGroup", "db", {
    ...{ volumeGroupClassName: CLASS, source: { selector: { matchLabels: { "own-kinds": "db" } } } },
  });
  await isTrue(["volumegroup", "db"], "MembersSynced");
  await kubectl.run("label", "pvc", "third", "own-kinds-");
  await cluster.shows(["volumegroup", "db"], "{.status.members[*].claimName}", "data log");
}

async function cloneOfIt(): Promise<void> {
  await object("VolumeGroupClone", "copy", {
    source: { volumeGroupName: "db" },
    volumeGroupSnapshotClassName: CLASS,
    defaults: { labels: { "own-kinds": "copy" } },
  });
  await isTrue(["volumegroupclone", "copy"], "Ready");
  for (const name of ["data-copy", "log-copy"]) await bound(name);
  assert.equal(await kubectl.run("get", "volumegroupsnapshots,volumegrouprestores", "-o", "name"), "");
  await remove("volumegroupclone/copy");
}

async function backInPlace(): Promise<void> {
  await kubectl.apply(`
apiVersion: groupsnapshot.storage.k8s.io/v1
kind: VolumeGroupSnapshot
metadata: {name: noon, namespace: default}
spec: {volumeGroupSnapshotClassName: ${CLASS}, source: {selector: {matchLabels: {own-kinds: db}}}}
`);
  await cluster.shows(["volumegroupsnapshot", "noon"], "{.status.readyToUse}", "true");
  await revert();
  // Its successor reports the same once more: the event is there, and is counted.
  assert.equal(await node.end(), 0, node.stderr);
  node = await cluster.startNode();
  await revert();
  const restored = ["events", "--field-selector", "reason=Restored"];
  await cluster.shows(restored, "{.items[*].count}", "2 2");
  await restoreWithoutRoom();
  await remove("volumegroupsnapshot/noon");
}

/** Why a claim of a restore gets no volume is read from the claim's events. */
async function restoreWithoutRoom(): Promise<void> {
  const source = { volumeGroupSnapshotName: "noon" };
  await object("VolumeGroupRestore", "huge", { source, defaults: { size: "1Pi" } });
  const status = () => kubectl.run("get", "volumegrouprestore", "huge", "-o", "jsonpath={.status}");
  const isExplained = async () => /has no volume yet: /.test(await status());
  await eventually("the restore to say why its claims have no volumes", isExplained, PATIENT);
  await remove("volumegrouprestore/huge", "pvc/data-huge", "pvc/log-huge");
}

async function revert(): Promise<void> {
  await object("VolumeGroupRevert", "back", { source: { volumeGroupSnapshotName: "noon" } });
  await isTrue(["volumegrouprevert", "back"], "Complete");
  await remove("volumegrouprevert/back");
}

/** What no attempt could end well is refused on the volume itself. */
async function refusedRestore(): Promise<void> {
  const target = ["volumes.storage.mooring.dev", await handleOf("data")];
  const wish = (restoreFrom: object | null) =>
    kubectl.run("patch", ...target, "--type=merge", "-p", JSON.stringify({ spec: { restoreFrom } }));
  // What the revert has asked for is still there: a merge would leave its parts.
  await wish(null);
  await wish({ snapshot: "there-is-none" });
  await cluster.shows(target, "{.status.restore.message}", "there is no snapshot there-is-none");
  await wish(null);
}

/** As a backup of the cluster's objects brings it back: nobody owns it, so the garbage collector leaves it. */
async function shareOfNoVolume(): Promise<void> {
  const what = ["sharemanagers", "v-of-a-backup"];
  await kubectl.apply(`
apiVersion: storage.mooring.dev/v1alpha1
kind: ShareManager
metadata: {name: ${what[1]}}
spec: {nodeID: "", users: []}
`);
  const isGone = async () => (await kubectl.run("get", ...what, "--ignore-not-found", "-o", "name")) === "";
  await eventually("the controller to remove the ShareManager of no volume", isGone, PATIENT);
}

/** One of a volume that a label chooses, at the next full minute. */
async function byTheClock(): Promise<void> {
  const handle = await handleOf("data");
  const label = "recurring-job.storage.mooring.dev/own-kinds=enabled";
  await kubectl.run("label", "volumes.storage.mooring.dev", handle, label);
  await kubectl.apply(`
apiVersion: storage.mooring.dev/v1alpha1
kind: RecurringJob
metadata: {name: own-kinds}
spec: {cron: "* * * * *", task: snapshot, retain: 1}
`);
  await cluster.shows(["recurringjob", "own-kinds"], "{.status.lastRun.tasks[*].volume}", handle);
  await remove("recurringjob/own-kinds");
}
const volumeOf = (name: string) => kubectl.run("get", "pvc", name, "-o", "jsonpath={.spec.volumeName}");
const handleOf = async (name: string) =>
  kubectl.run("get", "pv", await volumeOf(name), "-o", "jsonpath={.spec.csi.volumeHandle}");

/** Groups go with their members. */
async function end(): Promise<void> {
  await remove("volumegroup/db", "volumegroup/copy");
  await remove("pvc/third");
  const own = "volumesets,volumegroupcontents,volumes.storage.mooring.dev,snapshots.storage.mooring.dev";
  await kubectl.run("delete", "snapshots.storage.mooring.dev", "--all", "--timeout=600s");
  const isGone = async () => {
    const left = await leftOf(kubectl, "csi.mooring.dev", CLASS);
    return left.length === 0 && (await kubectl.run("get", own, "-A", "-o", "name")) === "";
  };
  await eventually("everything to be gone", isGone, PATIENT);
  for (const each of [node, controller]) await each.atRest();
  for (const each of [node, controller]) {
    assert.equal(await each.end(), 0, each.stderr);
    assert.doesNotMatch(each.stderr, /forbidden|missing right/i);
  }
}

test(
  "groups, their clones and reverts, and snapshots by the clock, each process with its own rights",
  thorough(),
  async () => {
    await begin();
    await groupWithItsMembers();
    await cloneOfIt();
    await backInPlace();
    await refusedRestore();
    await shareOfNoVolume();
    await byTheClock();
    await end();
  },
);
