import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  ConfigMaps,
  Events,
  type KubeObject,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  Secrets,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { BEING_CREATED, BEING_DELETED, CLAIM_SOURCE_FINALIZER } from "../common/names.ts";
import { type Harness, type HarnessOptions, startHarness } from "../testing/harness.ts";
import { claim, DRIVER, snapshotClass, snapshotContent, volumeSnapshot } from "../testing/objects.ts";

const NS = { namespace: "default" };
const fresh = <T extends KubeObject>(object: T): T => {
  const { uid: _uid, ...metadata } = object.metadata;
  return { ...object, metadata };
};
const pvc = (name: string, spec = {}) => {
  const plain = fresh(claim(name, spec));
  return { ...plain, metadata: { name, ...NS } };
};
const vs = (name: string, spec: object = {}) =>
  fresh(
    volumeSnapshot(name, {
      source: { persistentVolumeClaimName: "src" },
      volumeSnapshotClassName: "snaps",
      ...spec,
    }),
  );

async function start(t: Parameters<typeof startHarness>[0], options: HarnessOptions = {}): Promise<Harness> {
  const classes: [Resource, KubeObject][] = options.objects ?? [[VolumeSnapshotClasses, snapshotClass()]];
  const h = await startHarness(t, { ...options, objects: classes });
  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await h.until(
    "the source is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  return h;
}
const snapshotOf = (h: Harness, name = "snap") => h.store.get(VolumeSnapshots, { name, ...NS });
const ready = (h: Harness, name = "snap") =>
  h.until(
    `${name} is ready`,
    async () => {
      const found = await snapshotOf(h, name);
      return found.status?.readyToUse && found;
    },
    async () => [await snapshotOf(h, name), (await h.store.list(VolumeSnapshotContents)).items],
  );
const errorOf = (h: Harness, pattern: RegExp, name = "snap") =>
  h.until(
    `error ${pattern}`,
    async () => pattern.test((await snapshotOf(h, name)).status?.error?.message ?? ""),
    () => snapshotOf(h, name),
  );
const snapshotGone = (h: Harness, name = "snap") =>
  h.until(
    `${name} is gone`,
    async () => (await h.find(VolumeSnapshots, name, "default")) === undefined,
    () => snapshotOf(h, name),
  );
const contents = async (h: Harness) => (await h.store.list(VolumeSnapshotContents)).items;
const remove = (h: Harness, name = "snap") => h.store.delete(VolumeSnapshots, { name, ...NS });
const claimFinalizers = async (h: Harness) =>
  (await h.find(PersistentVolumeClaims, "src", "default"))?.metadata.finalizers ?? [];

test("a snapshot is cut, becomes ready, is restored, and goes with its data", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  const done = await ready(h);
  const [content] = await contents(h);
  assert.equal(content?.metadata.name, `snapcontent-${done.metadata.uid}`);
  assert.equal(done.status?.boundVolumeSnapshotContentName, content.metadata.name);
  assert.equal(done.status?.creationTime, "2023-11-14T22:13:20Z");
  assert.equal(done.status?.restoreSize, "1Gi");
  assert.deepEqual(done.metadata.finalizers?.sort(), [
    "snapshot.storage.kubernetes.io/volumesnapshot-as-source-protection",
    "snapshot.storage.kubernetes.io/volumesnapshot-bound-protection",
  ]);
  assert.equal(content.spec.source.volumeHandle, [...h.driver.backend.volumes.keys()][0]);
  assert.equal(content.spec.sourceVolumeMode, "Filesystem");
  assert.equal(content.spec.deletionPolicy, "Delete");
  const [backend] = h.driver.backend.snapshots.values();
  assert.equal(backend?.name, `snapshot-${done.metadata.uid}`);
  assert.equal(content.status?.snapshotHandle, backend?.id);
  await h.until(
    "the claim is released",
    async () => !(await claimFinalizers(h)).includes(CLAIM_SOURCE_FINALIZER),
  );
  await h.until(
    "nothing is uncertain",
    async () => (await contents(h))[0]?.metadata.annotations?.[BEING_CREATED] === undefined,
  );
  const reasons = (await h.store.list(Events)).items.map(({ reason }) => reason);
  for (const reason of ["CreatingSnapshot", "SnapshotCreated", "SnapshotReady"])
    assert.ok(reasons.includes(reason), reason);

  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until(
    "it is restored",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await remove(h);
  await snapshotGone(h);
  assert.equal((await contents(h)).length, 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
  assert.equal(h.driver.called("CreateSnapshot"), 1);
  assert.equal(h.driver.called("DeleteSnapshot"), 1);
});

test("a snapshot cannot be deleted under a restore, and a restore that fails does not hold it", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, effect: true, times: 6 });
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until("the restore runs", () => h.driver.called("CreateVolume") > 1);
  await remove(h);
  await h.until(
    "the restore is done",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await snapshotGone(h);

  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({ method: "CreateVolume", code: Code.INTERNAL, times: 1000 });
  await h.store.create(PersistentVolumeClaims, pvc("never", { dataSource }));
  await h.until("it was tried", () => h.driver.called("CreateVolume") > 9);
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("[CSI-221] a snapshot that is not ready at once is asked about until it is", async (t) => {
  const h = await start(t, { driver: { snapshotPolls: 4 } });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("the first status", async () => (await snapshotOf(h)).status?.readyToUse === false);
  await ready(h);
  assert.equal(h.driver.called("CreateSnapshot"), 5);
  assert.equal(h.driver.backend.snapshots.size, 1);
});

test("errors are on the snapshot and its content, once, and go away with success", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.INTERNAL, message: "array offline", times: 4 });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await errorOf(h, /array offline/);
  const done = await ready(h);
  assert.equal(done.status?.error, undefined);
  assert.equal((await contents(h))[0]?.status?.error, undefined);
});

test("[CSI-244] an uncertain CreateSnapshot is repeated before the snapshot is deleted: nothing is left", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.DEADLINE_EXCEEDED, effect: true, times: 4 });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("it was called", () => h.driver.called("CreateSnapshot") > 0);
  await remove(h);
  await h.store.delete(VolumeSnapshotClasses, { name: "snaps" });
  await h.restart();
  await snapshotGone(h);
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("a deletion that the driver refuses is told on the content, loses nothing, and is tried again", async (t) => {
  const h = await start(t);
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  h.driver.faults.add({
    method: "DeleteSnapshot",
    code: Code.FAILED_PRECONDITION,
    message: "array offline",
    times: Number.POSITIVE_INFINITY,
  });
  await remove(h);
  const told = async () =>
    (await h.store.list(Events)).items.find(({ reason }) => reason === "SnapshotDeleteError");
  await h.until("it is told", async () => (await told()) !== undefined);
  const event = await told();
  const [content] = await contents(h);
  assert.deepEqual(
    [event?.involvedObject?.kind, event?.involvedObject?.name],
    ["VolumeSnapshotContent", content?.metadata.name],
  );
  assert.match(event?.message ?? "", /array offline/);
  assert.equal(h.driver.backend.snapshots.size, 1);
  h.driver.faults.clear();
  await snapshotGone(h);
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("policy Retain keeps the content and the data; deleting the content later does not touch the data", async (t) => {
  const h = await start(t, {
    objects: [[VolumeSnapshotClasses, snapshotClass({ deletionPolicy: "Retain" })]],
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  await remove(h);
  await snapshotGone(h);
  const [content] = await contents(h);
  assert.equal(content?.metadata.annotations?.[BEING_DELETED], "yes");
  await h.store.delete(VolumeSnapshotContents, { name: content?.metadata.name ?? "" });
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 1);
});

test("a content whose snapshot is merely missing is never deleted, and one deleted directly waits for its snapshot", async (t) => {
  const h = await start(t);
  const orphan = fresh(snapshotContent("orphan", { source: { snapshotHandle: "snap-x" } }));
  await h.store.create(VolumeSnapshotContents, orphan);
  await h.store.create(VolumeSnapshots, vs("snap"));
  const { status } = await ready(h);
  await h.store.delete(VolumeSnapshotContents, { name: status?.boundVolumeSnapshotContentName ?? "" });
  await h.store.create(VolumeSnapshots, vs("other"));
  await ready(h, "other");
  assert.equal(h.driver.backend.snapshots.size, 2);
  assert.ok((await contents(h)).some(({ metadata }) => metadata.name === "orphan"));
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 1);
});

test("the default class of the volume's driver is used, when there is exactly one", async (t) => {
  const annotations = { "snapshot.storage.kubernetes.io/is-default-class": "true" };
  const make = (name: string, driver = DRIVER): [Resource, KubeObject] => [
    VolumeSnapshotClasses,
    snapshotClass({ metadata: { name, annotations }, driver }),
  ];
  const h = await start(t, { objects: [make("foreign", "x.example.com")] });
  const plain = vs("snap");
  const { volumeSnapshotClassName: _none, ...spec } = plain.spec;
  await h.store.create(VolumeSnapshots, { ...plain, spec });
  await errorOf(h, /cannot find a default/);
  const [resource, first] = make("first");
  await h.store.create(resource, first);
  assert.equal((await ready(h)).spec.volumeSnapshotClassName, "first");
  const [, second] = make("second");
  await h.store.create(resource, second);
  await h.store.create(VolumeSnapshots, { ...vs("more"), spec });
  await errorOf(h, /2 default snapshot classes/, "more");
});

const problems: [title: string, spec: object, error: RegExp][] = [
  ["a missing claim", { source: { persistentVolumeClaimName: "nope" } }, /claim nope does not exist/],
  ["a missing class", { volumeSnapshotClassName: "nope" }, /volumesnapshotclass nope does not exist/],
  [
    "a missing content",
    { source: { volumeSnapshotContentName: "nope" } },
    /VolumeSnapshotContent nope is missing/,
  ],
  [
    "a content of somebody else",
    { source: { volumeSnapshotContentName: "foreign" } },
    /belongs to another snapshot/,
  ],
  [
    "a content that is not pre-provisioned",
    { source: { volumeSnapshotContentName: "dynamic" } },
    /no snapshot handle/,
  ],
];
for (const [title, spec, error] of problems) {
  test(`${title} is an error on the snapshot, which can be deleted`, async (t) => {
    const h = await start(t);
    const foreign = fresh(
      snapshotContent("foreign", {
        source: { snapshotHandle: "h" },
        volumeSnapshotRef: { name: "x", namespace: "y" },
      }),
    );
    await h.store.create(VolumeSnapshotContents, foreign);
    await h.store.create(
      VolumeSnapshotContents,
      fresh(snapshotContent("dynamic", { source: { volumeHandle: "h" } })),
    );
    await h.store.create(VolumeSnapshots, vs("snap", spec));
    await errorOf(h, error);
    await remove(h);
    await snapshotGone(h);
  });
}

test("a pre-provisioned snapshot is bound by its UID, inspected and ready; a restore can use it", async (t) => {
  const h = await start(t);
  const [volume] = h.driver.backend.volumes.values();
  const { id } = h.driver.backend.createSnapshot("old", volume?.id ?? "", 0);
  const volumeSnapshotRef = { name: "snap", namespace: "default" };
  const imported = fresh(snapshotContent("imported", { source: { snapshotHandle: id }, volumeSnapshotRef }));
  const { volumeSnapshotClassName: _none, ...spec } = imported.spec;
  await h.store.create(VolumeSnapshotContents, { ...imported, spec });
  await h.store.create(VolumeSnapshots, vs("snap", { source: { volumeSnapshotContentName: "imported" } }));
  const done = await ready(h);
  const [content] = await contents(h);
  assert.equal(content?.spec.volumeSnapshotRef.uid, done.metadata.uid);
  assert.equal(done.status?.restoreSize, "1Gi");
  const dataSource = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
  await h.store.create(PersistentVolumeClaims, pvc("restored", { dataSource }));
  await h.until(
    "it is restored",
    async () => (await h.find(PersistentVolumeClaims, "restored", "default"))?.status?.phase === "Bound",
  );
  await remove(h);
  await snapshotGone(h);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("a pre-provisioned content that was never bound is deleted with its data", async (t) => {
  const h = await start(t);
  const [volume] = h.driver.backend.volumes.values();
  const { id } = h.driver.backend.createSnapshot("old", volume?.id ?? "", 0);
  const volumeSnapshotRef = { name: "nobody", namespace: "default" };
  await h.store.create(
    VolumeSnapshotContents,
    fresh(snapshotContent("imported", { source: { snapshotHandle: id }, volumeSnapshotRef })),
  );
  await h.until("it is inspected", async () => (await contents(h))[0]?.status?.readyToUse);
  await h.store.delete(VolumeSnapshotContents, { name: "imported" });
  await h.until("the content is gone", async () => (await contents(h)).length === 0);
  assert.equal(h.driver.backend.snapshots.size, 0);
});

test("[CSI-207] [CSI-228] the secret of the class goes to CreateSnapshot and DeleteSnapshot; parameters without reserved keys", async (t) => {
  const parameters = {
    kind: "thin",
    "csi.storage.k8s.io/snapshotter-secret-name": "key",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template of a class
    "csi.storage.k8s.io/snapshotter-secret-namespace": "${volumesnapshot.namespace}",
  };
  const data = { k: Buffer.from("v").toString("base64") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", ...NS }, data };
  const h = await start(t, {
    objects: [
      [VolumeSnapshotClasses, snapshotClass({ parameters })],
      [Secrets, secret],
    ],
  });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await ready(h);
  await remove(h);
  await snapshotGone(h);
  const calls = h.driver.calls.filter(({ method }) => /Snapshot$/.test(method));
  assert.equal(calls.length, 2);
  for (const { request } of calls) assert.deepEqual((request as { secrets: object }).secrets, { k: "v" });
  assert.deepEqual((calls[0]?.request as { parameters: object } | undefined)?.parameters, { kind: "thin" });
});

test("a claim under deletion is kept for a snapshot being cut, and not for one that cannot be cut", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.UNAVAILABLE, times: 5 });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await h.until("it was called", () => h.driver.called("CreateSnapshot") > 0);
  await h.store.delete(PersistentVolumeClaims, { name: "src", ...NS });
  await ready(h);
  await h.until(
    "the claim is gone",
    async () => (await h.find(PersistentVolumeClaims, "src", "default")) === undefined,
  );

  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await h.until(
    "it is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  h.driver.faults.add({ method: "CreateSnapshot", code: Code.INTERNAL, times: 10_000 });
  await h.store.create(VolumeSnapshots, vs("never"));
  await errorOf(h, /CreateSnapshot fails/, "never");
  await h.store.delete(PersistentVolumeClaims, { name: "src", ...NS });
  await h.until(
    "the claim is gone",
    async () => (await h.find(PersistentVolumeClaims, "src", "default")) === undefined,
  );
});

test("a clone keeps its source until it is made", async (t) => {
  const h = await start(t);
  h.driver.faults.add({ method: "CreateVolume", code: Code.UNAVAILABLE, effect: true, times: 5 });
  const dataSource = { kind: "PersistentVolumeClaim", name: "src" };
  await h.store.create(PersistentVolumeClaims, pvc("clone", { dataSource }));
  await h.until("it was called", () => h.driver.called("CreateVolume") > 1);
  await h.store.delete(PersistentVolumeClaims, { name: "src", ...NS });
  assert.ok(await h.find(PersistentVolumeClaims, "src", "default"));
  await h.until(
    "the clone is bound",
    async () => (await h.find(PersistentVolumeClaims, "clone", "default"))?.status?.phase === "Bound",
  );
  await h.until(
    "the source is gone",
    async () => (await h.find(PersistentVolumeClaims, "src", "default")) === undefined,
  );
  await h.until("its volume too", async () => (await h.store.list(PersistentVolumes)).items.length === 1);
  assert.equal((await h.store.list(ConfigMaps)).items.length, 0);
});
