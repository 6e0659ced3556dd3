import assert from "node:assert/strict";
import { readdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "@mooring/engine";
import { covers, eventually } from "@mooring/store/testing";
import { leaks } from "../support/leaks.ts";
import { claim, pod } from "../support/manifests.ts";
import { mooring } from "../support/mooring.ts";
import { world } from "../support/world.ts";

const host = createHost();
const { up, kubectl, shows, gone } = await world();
const API = "groupsnapshot.storage.k8s.io/v1";
const images = join(up.stateDir, "pools/default/mnt/images");
/** What a group makes besides its own object. */
const PARTS = [
  "volumesnapshots",
  "volumesnapshotcontents",
  "groupsnapshots.storage.mooring.dev",
  "snapshots.storage.mooring.dev",
];

const add = (...items: object[]): Promise<void> =>
  kubectl.apply(JSON.stringify({ apiVersion: "v1", kind: "List", items }));
const names = async (kinds: readonly string[]): Promise<string> =>
  (await kubectl.run("get", kinds.join(","), "-A", "-o", "name")).trim();

function labelled(name: string, group: string, more: object = {}): object {
  const object = claim("default", name);
  return {
    ...object,
    metadata: { ...object.metadata, labels: { group } },
    spec: { ...object.spec, ...more },
  };
}

const groupOf = (name: string, label: string, volumeGroupSnapshotClassName = "mooring"): object => ({
  apiVersion: API,
  kind: "VolumeGroupSnapshot",
  metadata: { name },
  spec: { volumeGroupSnapshotClassName, source: { selector: { matchLabels: { group: label } } } },
});

const classOf = (name: string, parameters: Record<string, string>): object => ({
  ...{ apiVersion: API, kind: "VolumeGroupSnapshotClass", metadata: { name } },
  ...{ driver: "csi.mooring.dev", deletionPolicy: "Delete", parameters },
});

/** A claim that is bound to a volume which an administrator has made elsewhere. */
function brought(name: string, group: string, driver: string): object[] {
  const capacity = { storage: "64Mi" };
  const csi = { driver, volumeHandle: `elsewhere-${name}` };
  const claimRef = { namespace: "default", name };
  const spec = {
    ...{ accessModes: ["ReadWriteOnce"], capacity, claimRef, csi },
    ...{ persistentVolumeReclaimPolicy: "Retain", storageClassName: "" },
  };
  return [
    { apiVersion: "v1", kind: "PersistentVolume", metadata: { name: `pv-${name}` }, spec },
    labelled(name, group, { storageClassName: "", volumeName: `pv-${name}` }),
  ];
}

/** A claim of a Pod that sleeps, with its file system mounted; where. */
async function inUse(name: string, group: string): Promise<{ mount: string }> {
  await add(
    labelled(name, group),
    pod("default", `uses-${name}`, "exec sleep 100000", { mounts: { "/data": name } }),
  );
  await shows(["pod", `uses-${name}`], "{.status.phase}", "Running");
  const volume = await kubectl.run("get", "pvc", name, "-o", "jsonpath={.spec.volumeName}");
  const handle = await kubectl.run("get", "pv", volume, "-o", "jsonpath={.spec.csi.volumeHandle}");
  const device = await host.loops.find(join(images, `${handle}.img`));
  const mount = (await host.mounts.list()).find(
    ({ source, target, fsType }) =>
      fsType !== "devtmpfs" && source === device?.path && target.startsWith(up.stateDir),
  );
  assert.ok(mount, `claim ${name} is mounted`);
  return { mount: mount.target };
}

/** It is reported on the object, by an event and by `mooring why`; nothing is ready and nothing half-done. */
async function refused(name: string, message: RegExp, reason: string, parts = PARTS): Promise<void> {
  await shows(["vgs", name], "{.status.error.message}", message);
  assert.notEqual(await kubectl.run("get", "vgs", name, "-o", "jsonpath={.status.readyToUse}"), "true");
  const select = `involvedObject.kind=VolumeGroupSnapshot,involvedObject.name=${name},reason=${reason}`;
  await shows(["events", "--field-selector", select], "{.items[*].message}", message);
  assert.match((await mooring("why", `vgs/${name}`, "--kubeconfig", up.kubeconfig)).stdout, message);
  await nothingMade(parts);
}

/** The driver's message is on both objects, and in an event on the one that the call was for. */
async function failed(name: string, message: RegExp): Promise<void> {
  await shows(["vgs", name], "{.status.error.message}", message);
  const uid = await kubectl.run("get", "vgs", name, "-o", "jsonpath={.metadata.uid}");
  const content = `groupsnapcontent-${uid}`;
  await shows(["vgsc", content], "{.status.error.message}", message);
  const select = `involvedObject.name=${content},reason=GroupSnapshotCreationFailed`;
  await shows(["events", "-A", "--field-selector", select], "{.items[*].message}", message);
  assert.match((await mooring("why", `vgs/${name}`, "--kubeconfig", up.kubeconfig)).stdout, message);
  assert.equal(await names(["volumesnapshots", "volumesnapshotcontents"]), "");
  // It is tried again and again: between two attempts nothing of the first is left.
  await eventually("the attempt to be taken back", async () => {
    const copies = (await readdir(images)).filter((file) => !file.startsWith("v-"));
    return copies.length === 0 && (await names(["snapshots.storage.mooring.dev"])) === "";
  });
}

async function nothingMade(parts = PARTS): Promise<void> {
  assert.equal(await names(parts), "");
  assert.deepEqual(
    (await readdir(images)).filter((file) => !file.startsWith("v-")),
    [],
  );
}

/** Deleted, the group leaves nothing. */
async function cleared(name: string): Promise<void> {
  await kubectl.run("delete", "vgs", name, "--timeout=120s");
  assert.equal(await names(["volumegroupsnapshotcontents", ...PARTS]), "");
}

const NOTHING_CALLED = ["volumegroupsnapshotcontents", ...PARTS];
const REFUSED = "GroupSnapshotContentCreationFailed";

test("no claim: reported on the group snapshot, nothing is made", async () => {
  await add(groupOf("none", "none"));
  await refused("none", /no claim of the namespace matches the selector/, REFUSED, NOTHING_CALLED);
  await cleared("none");
});

test("101 claims: reported before anything is made; one fewer is tried", async () => {
  covers("KEP-058");
  const claims = Array.from({ length: 101 }, (_, index) =>
    brought(`many-${index}`, "many", "csi.mooring.dev"),
  );
  await add(...claims.flat());
  await shows(["pvc", "-l", "group=many"], "{.items[*].status.phase}", /^Bound( Bound){100}$/);
  await add(groupOf("many", "many"));
  const message = /101 claims match the selector; a group has at most 100 members/;
  await refused("many", message, REFUSED, NOTHING_CALLED);
  await kubectl.run("label", "pvc", "many-7", "group-");
  // There are no such volumes: the driver reports that, and nothing of the hundred is made.
  await failed("many", /elsewhere-many-\d+/);
  await cleared("many");
  await kubectl.run("delete", "pvc", "many-7");
  await kubectl.run("delete", "pvc", "-l", "group=many");
  await kubectl.run("delete", "pv", "--all");
});

test("claims that are unbound, of another driver or being deleted are all named at once, also on the claims", async () => {
  await inUse("going", "mixed");
  await add(labelled("good", "mixed"), labelled("unbound", "mixed", { storageClassName: "nowhere" }));
  await add(...brought("foreign", "mixed", "x.example.com"));
  await shows(["pvc", "good", "foreign"], "{.items[*].status.phase}", "Bound Bound");
  await kubectl.run("delete", "pvc", "going", "--wait=false");
  await add(groupOf("mixed", "mixed"));
  const output = [
    ["foreign", /claim foreign is of driver x\.example\.com, the group snapshot is for csi\.mooring\.dev/],
    ["going", /claim going is being deleted/],
    ["unbound", /claim unbound is not bound/],
  ] as const;
  for (const [name, message] of output) {
    await refused("mixed", message, REFUSED, NOTHING_CALLED);
    const select = `involvedObject.kind=PersistentVolumeClaim,involvedObject.name=${name},reason=${REFUSED}`;
    await shows(["events", "--field-selector", select], "{.items[*].message}", message);
  }
  await kubectl.run("delete", "pod", "uses-going");
  await gone("pvc", "going");
  await kubectl.run("delete", "pvc", "foreign", "unbound");
  await kubectl.run("delete", "pv", "pv-foreign");
  await shows(["vgs", "mixed"], "{.status.readyToUse}", "true");
  await cleared("mixed");
});

test("a class that is missing, and one whose secret is: reported, no snapshot is made, and it goes on when they come", async () => {
  covers("KEP-008");
  await add(groupOf("late", "mixed", "later"));
  const noClass = /volumegroupsnapshotclass later does not exist/;
  await refused("late", noClass, "GetGroupSnapshotClassFailed", NOTHING_CALLED);
  await add(
    classOf("later", {
      "csi.storage.k8s.io/group-snapshotter-secret-name": "key",
      "csi.storage.k8s.io/group-snapshotter-secret-namespace": "default",
    }),
  );
  await shows(["vgs", "late"], "{.status.error.message}", /secret default\/key does not exist/);
  await nothingMade();
  await kubectl.run("create", "secret", "generic", "key", "--from-literal=a=b");
  await shows(["vgs", "late"], "{.status.readyToUse}", "true");
  assert.equal(await kubectl.run("get", "vgs", "late", "-o", "jsonpath={.status.error}"), "");
  await cleared("late");
});

test("a frozen file system: reported with the volume, no snapshot is made, the others go on, and it is made once it is thawed", async () => {
  const [one, two] = [await inUse("one", "barrier"), await inUse("two", "barrier")];
  await host.exec.run("fsfreeze", ["--freeze", two.mount]);
  try {
    await add(groupOf("frozen", "barrier"));
    await failed("frozen", /could not be kept still: .*another program has frozen it/);
    await host.exec.run("timeout", ["60", "sh", "-c", 'echo on >"$1/on" && sync "$1/on"', "sh", one.mount]);
  } finally {
    await host.exec.run("fsfreeze", ["--unfreeze", two.mount]);
  }
  await shows(["vgs", "frozen"], "{.status.readyToUse}", "true");
  assert.equal(await kubectl.run("get", "vgs", "frozen", "-o", "jsonpath={.status.error}"), "");
  await cleared("frozen");
});

test("a member that is deleted while its group snapshot cannot be made: reported with its volume, nothing is made of the others", async () => {
  const stuck = await inUse("stuck", "deleted");
  await add(labelled("spare", "deleted"));
  await shows(["pvc", "spare"], "{.status.phase}", "Bound");
  const handle = await kubectl.run(
    "get",
    "pv",
    "-o",
    `jsonpath={.items[?(@.spec.claimRef.name=="spare")].spec.csi.volumeHandle}`,
  );
  await host.exec.run("fsfreeze", ["--freeze", stuck.mount]);
  try {
    await add(groupOf("deleted", "deleted"));
    await failed("deleted", /could not be kept still/);
    await kubectl.run("delete", "pvc", "spare", "--timeout=120s");
    await failed("deleted", new RegExp(`${handle}.* (is being deleted|does not exist)`));
  } finally {
    await host.exec.run("fsfreeze", ["--unfreeze", stuck.mount]);
  }
  await shows(["vgs", "deleted"], "{.status.readyToUse}", "false");
  await cleared("deleted");
  await kubectl.run("delete", "pod", "uses-stuck");
  await kubectl.run("delete", "pvc", "stuck");
});

test("a snapshot of a full file system is made like any other; a full pool is reported, by group and restore, and both are made when there is space", async () => {
  const script = "dd if=/dev/zero of=/data/fill bs=1M 2>/dev/null || true; sync; exec sleep 100000";
  await kubectl.run("delete", "pod", "uses-two");
  await add(pod("default", "uses-two", script, { mounts: { "/data": "two" } }));
  await shows(["pod", "uses-two"], "{.status.phase}", "Running");
  await add(groupOf("full", "barrier"));
  await shows(["vgs", "full"], "{.status.readyToUse}", "true");
  const fill = join(up.stateDir, "pools/default/mnt/fill");
  const free = (await host.exec.run("df", ["--output=avail", "-B1", images])).stdout.split("\n")[1] ?? "";
  await host.exec.run("fallocate", ["-l", String(Math.floor(Number(free) * 0.98)), fill]);
  try {
    await add(groupOf("no-space", "barrier"));
    await shows(["vgs", "no-space"], "{.status.error.message}", /[KMG]iB free|space left/);
    assert.equal((await names(["volumesnapshots"])).split("\n").length, 2, "those of the first group");
    await add({
      ...{ apiVersion: "storage.mooring.dev/v1alpha1", kind: "VolumeGroupRestore" },
      ...{ metadata: { name: "again" }, spec: { source: { volumeGroupSnapshotName: "full" } } },
    });
    const why = /^0 of 2 claims are bound; one-again has no volume yet: .*([KMG]iB free|space left)/;
    await shows(["volumegrouprestore", "again"], "{.status.message}", why);
    const wait = ["group", "wait", "again", "--restore", "--timeout", "2", "--kubeconfig", up.kubeconfig];
    const { code, stderr } = await mooring(...wait);
    assert.equal(code, 1);
    assert.match(stderr, /^waiting: VolumeGroupRestore again: 0 of 2 .*([KMG]iB free|space left)/m);
  } finally {
    await rm(fill, { force: true });
  }
  await shows(["vgs", "no-space"], "{.status.readyToUse}", "true");
  await kubectl.run("wait", "--for=condition=Ready", "volumegrouprestore/again", "--timeout=240s");
  await kubectl.run("delete", "volumegrouprestore", "again");
  await kubectl.run("delete", "vgs", "full");
  await cleared("no-space");
});

test("two groups over the same volumes at once are both made, each with members of its own", async () => {
  await add(groupOf("left", "barrier"), groupOf("right", "barrier"));
  for (const name of ["left", "right"]) await shows(["vgs", name], "{.status.readyToUse}", "true");
  for (const name of ["left", "right"]) {
    const members = await kubectl.run(
      "get",
      "volumesnapshots",
      "-l",
      `volumeGroupSnapshotName=${name}`,
      "-o",
      "name",
    );
    assert.equal(members.trim().split("\n").length, 2);
  }
  assert.equal((await names(["volumesnapshots"])).split("\n").length, 4);
  await kubectl.run("delete", "vgs", "left");
  await shows(["vgs", "right"], "{.status.readyToUse}", "true");
  await cleared("right");
});

test("after all that nothing is left that no object explains", async () => {
  await kubectl.run("delete", "pod", "--all");
  await kubectl.run("delete", "pvc", "--all");
  await gone("pvc", "one");
  assert.deepEqual(await leaks(up), []);
  assert.equal(await up.end("SIGTERM"), 0);
});
