import assert from "node:assert/strict";
import { test } from "node:test";
import {
  type KubeObject,
  type Resource,
  Secrets,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { fresh, NS } from "../testing/group-world.ts";
import { DRIVER, snapshotClass, snapshotContent } from "../testing/objects.ts";
import { errorOf, ready, remove, snapshotGone, snapshotOf, start, vs } from "../testing/snapshot-world.ts";

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

test("a content that has the name of the snapshot's own and is another's is reported, and left alone", async (t) => {
  const h = await start(t, { objects: [] });
  await h.store.create(VolumeSnapshots, vs("snap"));
  await errorOf(h, /volumesnapshotclass snaps does not exist/);
  const { uid } = (await snapshotOf(h)).metadata;
  const taken = fresh(
    snapshotContent(`snapcontent-${uid}`, {
      ...{ source: { snapshotHandle: "theirs" }, deletionPolicy: "Retain" },
      volumeSnapshotRef: { name: "other", namespace: "default", uid: "other" },
    }),
  );
  await h.store.create(VolumeSnapshotContents, taken);
  await h.store.create(VolumeSnapshotClasses, snapshotClass());
  await errorOf(h, /belongs to another snapshot/);
  assert.equal(h.driver.called("CreateSnapshot"), 0);
  const kept = await h.store.get(VolumeSnapshotContents, { name: taken.metadata.name });
  assert.equal(kept.spec.volumeSnapshotRef.name, "other");
  await remove(h);
  await snapshotGone(h);
  assert.ok(await h.find(VolumeSnapshotContents, taken.metadata.name), "whose it is decides, not its name");
});

test("the secret of the class goes to CreateSnapshot and DeleteSnapshot; parameters without reserved keys", async (t) => {
  covers("CSI-207", "CSI-228");
  const parameters = {
    kind: "thin",
    "csi.storage.k8s.io/snapshotter-secret-name": "key",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template of a class
    "csi.storage.k8s.io/snapshotter-secret-namespace": "${volumesnapshot.namespace}",
  };
  const data = { k: Buffer.from("v").toString("base64") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: NS }, data };
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
