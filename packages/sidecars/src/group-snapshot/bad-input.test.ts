import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  Secrets,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import type { SidecarOptions } from "../options.ts";
import { fresh, type GroupWorld, groupWorld, labelled, NS } from "../testing/group-world.ts";
import { DRIVER, groupClass, persistentVolume, snapshotClass, volumeSnapshot } from "../testing/objects.ts";

const nothingDone = async ({ h }: GroupWorld) => {
  assert.equal(h.driver.called("CreateVolumeGroupSnapshot"), 0);
  assert.equal((await h.store.list(VolumeGroupSnapshotContents)).items.length, 0);
};

/** A claim that is bound to a volume somebody else made. */
async function claimWith(w: GroupWorld, name: string, spec: object): Promise<void> {
  const made = await w.h.store.create(
    PersistentVolumeClaims,
    labelled(name, { app: "db" }, { volumeName: name }),
  );
  const volume = persistentVolume(name, {
    claimRef: { namespace: NS, name, uid: made.metadata.uid ?? "" },
    ...spec,
  });
  await w.h.store.create(PersistentVolumes, fresh(volume));
  await w.h.until(
    `${name} is bound`,
    async () => (await w.h.find(PersistentVolumeClaims, name, NS))?.status?.phase === "Bound",
  );
}

const problems: [
  title: string,
  prepare: (w: GroupWorld) => Promise<unknown>,
  error: RegExp,
  reason: string,
][] = [
  [
    "no claim matches",
    async () => {},
    /no claim of the namespace matches the selector/,
    "GroupSnapshotContentCreationFailed",
  ],
  [
    "a claim is not bound",
    (w) =>
      w.h.store.create(PersistentVolumeClaims, labelled("lost", { app: "db" }, { volumeName: "nowhere" })),
    /claim lost is not bound/,
    "GroupSnapshotContentCreationFailed",
  ],
  [
    "a claim is of another driver",
    (w) => claimWith(w, "foreign", { csi: { driver: "x.example.com", volumeHandle: "h" } }),
    /claim foreign is of driver x\.example\.com, the group snapshot is for test\.csi\.example\.com/,
    "GroupSnapshotContentCreationFailed",
  ],
  [
    "a claim is not a CSI volume",
    (w) => claimWith(w, "local", { csi: undefined, hostPath: { path: "/tmp" } }),
    /volume local of claim local is not a CSI volume/,
    "GroupSnapshotContentCreationFailed",
  ],
  [
    "two claims are one volume",
    async (w) => {
      const csi = { driver: DRIVER, volumeHandle: "same" };
      await claimWith(w, "one", { csi });
      await claimWith(w, "two", { csi });
    },
    /claims one and two are the same volume same/,
    "GroupSnapshotContentCreationFailed",
  ],
];
for (const [title, prepare, error, reason] of problems)
  test(`${title}: reported on the group snapshot, nothing done, and it can be deleted`, async (t) => {
    const w = await groupWorld(t);
    if (!title.startsWith("no claim")) await w.claims("data");
    await prepare(w);
    await w.create("group");
    const { status } = await w.error(error);
    assert.equal(status?.readyToUse, false);
    await w.reported("VolumeGroupSnapshot", reason, error);
    await nothingDone(w);
    await w.remove();
    await w.gone();
  });

test("a class whose secret cannot be named is reported, no snapshot is made, and a better one goes on", async (t) => {
  const parameters = { "csi.storage.k8s.io/group-snapshotter-secret-name": "key" };
  const w = await groupWorld(t, { objects: [[VolumeGroupSnapshotClasses, groupClass({ parameters })]] });
  await w.claims("data");
  await w.create("group");
  await w.reported(
    "VolumeGroupSnapshot",
    "CreateGroupSnapshotContentFailed",
    /group-snapshotter-secret-namespace/,
  );
  await nothingDone(w);
  await w.h.store.delete(VolumeGroupSnapshotClasses, { name: "groups" });
  await w.h.store.create(VolumeGroupSnapshotClasses, groupClass());
  await w.ready();
});

test("every claim that cannot be a member gets an event, and the group succeeds when the last one can", async (t) => {
  const w = await groupWorld(t);
  await w.claims("data");
  for (const name of ["a", "b"])
    await w.h.store.create(PersistentVolumeClaims, labelled(name, { app: "db" }, { volumeName: "nowhere" }));
  await claimWith(w, "foreign", { csi: { driver: "x.example.com", volumeHandle: "h" } });
  await w.create("group");
  const { status: refused } = await w.error(/claim a is not bound; claim b is not bound/);
  const elsewhere = /claim foreign is of driver x\.example\.com/;
  assert.match(refused?.error?.message ?? "", elsewhere, "reported with the others, not after them");
  const reported = await w.reported("PersistentVolumeClaim", "GroupSnapshotContentCreationFailed", elsewhere);
  assert.equal(reported, "foreign");
  assert.equal(
    await w.reported("PersistentVolumeClaim", "GroupSnapshotContentCreationFailed", /claim a/),
    "a",
  );
  assert.equal(
    await w.reported("PersistentVolumeClaim", "GroupSnapshotContentCreationFailed", /claim b/),
    "b",
  );
  await nothingDone(w);
  for (const name of ["a", "b", "foreign"])
    await w.h.store.delete(PersistentVolumeClaims, { name, namespace: NS });
  const { status } = await w.ready();
  assert.equal(status?.error, undefined);
});

test("a hundred members are accepted, one more is refused before anything is done", async (t) => {
  covers("KEP-058");
  const w = await groupWorld(t);
  const names = Array.from({ length: 101 }, (_, index) => `c${index}`);
  for (const name of names)
    await claimWith(w, name, { csi: { driver: DRIVER, volumeHandle: `vol-${name}` } });
  for (const name of names) {
    const volume = { id: `vol-${name}`, name, bytes: 1n, fingerprint: "", topology: [] };
    w.h.driver.backend.volumes.set(volume.id, { ...volume, publishedTo: new Set() });
  }
  await w.create("group");
  await w.error(/101 claims match the selector; a group has at most 100 members/);
  await nothingDone(w);
  const body = { metadata: { labels: { app: "web" } } };
  await w.h.store.patch(PersistentVolumeClaims, { name: "c7", namespace: NS }, { type: "merge", body });
  await w.ready();
  assert.equal((await w.members()).length, 100);
  assert.equal((await w.content()).status?.volumeSnapshotInfoList?.length, 100);
  await w.remove();
  await w.gone();
  assert.equal(w.h.driver.backend.snapshots.size, 0);
});

test("a class that is missing is reported, and found when it comes", async (t) => {
  covers("KEP-008");
  const w = await groupWorld(t, { objects: [] });
  await w.claims("data");
  await w.create("group");
  await w.error(/volumegroupsnapshotclass groups does not exist/);
  await w.reported("VolumeGroupSnapshot", "GetGroupSnapshotClassFailed");
  await nothingDone(w);
  await w.h.store.create(VolumeGroupSnapshotClasses, groupClass());
  await w.ready();
});

test("a secret that is missing is reported on the group snapshot, and no call is made without it", async (t) => {
  const parameters = {
    "csi.storage.k8s.io/group-snapshotter-secret-name": "key",
    "csi.storage.k8s.io/group-snapshotter-secret-namespace": NS,
  };
  const w = await groupWorld(t, { objects: [[VolumeGroupSnapshotClasses, groupClass({ parameters })]] });
  await w.claims("data");
  await w.create("group");
  await w.error(/secret default\/key does not exist/);
  assert.equal(w.h.driver.called("CreateVolumeGroupSnapshot"), 0);
  const metadata = { name: "key", namespace: NS };
  await w.h.store.create(Secrets, { apiVersion: "v1", kind: "Secret", metadata, data: {} } as never);
  const { status } = await w.ready();
  assert.equal(status?.error, undefined);
});

test("a class with a key or an unknown template is refused before anything is done", async (t) => {
  for (const [key, value, error] of [
    ["csi.storage.k8s.io/group-snapshoter-secret-name", "typo", /unknown parameter key/],
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template of a class
    ["csi.storage.k8s.io/group-snapshotter-secret-name", "${pvc.name}", /invalid tokens/],
  ] as const) {
    const parameters = { "csi.storage.k8s.io/group-snapshotter-secret-namespace": NS, [key]: value };
    const w = await groupWorld(t, { objects: [[VolumeGroupSnapshotClasses, groupClass({ parameters })]] });
    await w.claims("data");
    await w.create("group");
    await w.error(error);
    await nothingDone(w);
  }
});

test("a driver that cannot take group snapshots is reported on the object, and gets no call", async (t) => {
  covers("KEP-006", "KEP-042");
  const w = await groupWorld(t, { driver: { groups: false } });
  await w.claims("data");
  await w.create("group");
  const { status } = await w.error(/cannot take group snapshots: it lacks CREATE_DELETE_GET_VOLUME_GROUP/);
  assert.equal(status?.readyToUse, false);
  await nothingDone(w);
  await w.remove();
  await w.gone();
});

test("without its controller a group snapshot is left alone, with it it is taken, and volumes notice nothing", async (t) => {
  covers("KEP-092", "KEP-093", "KEP-094", "KEP-099");
  const sidecars: Partial<SidecarOptions> = { controllers: ["provision", "snapshot"] };
  const w = await groupWorld(t, { sidecars });
  assert.deepEqual(w.h.sidecars.controllers, ["provision", "snapshot"]);
  await w.create("group");
  await w.claims("data");
  const group = await w.group();
  assert.equal(group?.status, undefined);
  assert.deepEqual(group?.metadata.finalizers ?? [], []);
  await nothingDone(w);
  const volumes = () => w.h.driver.calls.flatMap(({ method }) => (/Volume$/.test(method) ? [method] : []));
  const before = volumes();
  delete sidecars.controllers;
  await w.h.restart();
  await w.ready();
  assert.deepEqual(before, ["CreateVolume"]);
  assert.deepEqual(volumes(), before, "nothing is made, attached or detached again");
});

test("an error of the driver is on both objects, and goes away with success", async (t) => {
  covers("KEP-057");
  const w = await groupWorld(t);
  await w.claims("data");
  w.h.driver.faults.add({
    method: "CreateVolumeGroupSnapshot",
    code: Code.FAILED_PRECONDITION,
    message: "array offline",
    times: Number.POSITIVE_INFINITY,
  });
  await w.create("group");
  const { status } = await w.error(/array offline/);
  assert.match(status?.error?.time ?? "", /^\d{4}-/);
  await w.reported("VolumeGroupSnapshotContent", "GroupSnapshotCreationFailed", /array offline/);
  w.h.driver.faults.clear();
  const done = await w.ready();
  assert.equal(done.status?.error, undefined);
  assert.equal((await w.content()).status?.error, undefined);
  assert.equal(w.h.driver.backend.groups.size, 1);
});

test("plain snapshots do not need the kinds of group snapshots", async (t) => {
  const w = await groupWorld(t, {
    objects: [[VolumeSnapshotClasses, snapshotClass()]],
    without: [VolumeGroupSnapshots, VolumeGroupSnapshotContents, VolumeGroupSnapshotClasses] as Resource[],
  });
  await w.claims("data");
  const spec = { source: { persistentVolumeClaimName: "data" }, volumeSnapshotClassName: "snaps" };
  await w.h.store.create(VolumeSnapshots, fresh(volumeSnapshot("single", spec)));
  await w.h.until(
    "it is ready",
    async () => (await w.h.find(VolumeSnapshots, "single", NS))?.status?.readyToUse,
  );
});
