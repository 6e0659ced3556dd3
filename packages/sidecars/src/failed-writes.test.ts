import assert from "node:assert/strict";
import { test } from "node:test";
import {
  ConfigMaps,
  CSINodes,
  type KubeObject,
  KubeVolumeAttachments,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeAttributesClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { fresh, NS } from "./testing/group-world.ts";
import { startHarness } from "./testing/harness.ts";
import { csiNode, DRIVER, groupClass, groupSnapshot, snapshotClass } from "./testing/objects.ts";
import { pvc, vs } from "./testing/snapshot-world.ts";

const WRITES: ReadonlySet<string> = new Set(["create", "update", "updateStatus", "patch", "delete"]);
const TIMES = 1;

/** A server that refuses the first writes of each kind to each object: by verb, kind, name and subresource. */
function refusing(store: ObjectStore, refused: Map<string, number>): ObjectStore {
  return new Proxy(store, {
    get(target, verb) {
      const of = Reflect.get(target, verb) as unknown;
      if (typeof of !== "function") return of;
      return (...args: [Resource, KubeObject & { name?: string }, ...unknown[]]) => {
        const [{ kind } = { kind: "" }, which] = args;
        if (!WRITES.has(String(verb)) || /^(Event|Lease)$|Review$/.test(kind)) return of.apply(target, args);
        const { subresource = "" } = (args.at(-1) ?? {}) as { subresource?: string };
        const key = [String(verb), kind, which?.metadata?.name ?? which?.name ?? "", subresource].join(" ");
        const times = refused.get(key) ?? 0;
        refused.set(key, times + 1);
        return times < TIMES ? Promise.reject(new Error("the server refuses it")) : of.apply(target, args);
      };
    },
  });
}

const GOLD = {
  ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttributesClass", metadata: { name: "gold" } },
  ...{ driverName: DRIVER, parameters: { tier: "gold" } },
};
const SNAPSHOT = { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" };
const CAN = [
  ...(["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME", "EXPAND_VOLUME", "MODIFY_VOLUME"] as const),
  "CREATE_DELETE_SNAPSHOT" as const,
];
const LEFT = [
  ...[PersistentVolumes, VolumeSnapshots, VolumeSnapshotContents, VolumeGroupSnapshots],
  ...[VolumeGroupSnapshotContents, KubeVolumeAttachments, ConfigMaps],
];

/** What tests of the sidecars inject one by one: here every write is refused once before it is done. */
test(
  "every write fails at first, and everything is made, changed and deleted all the same",
  thorough(),
  async (t) => {
    const refused = new Map<string, number>();
    const h = await startHarness(t, {
      driver: { groups: true, can: [...CAN] },
      serve: (store) => Promise.resolve(refusing(store, refused)),
      objects: [
        [CSINodes, csiNode("n1")],
        [VolumeAttributesClasses, GOLD],
        [VolumeSnapshotClasses, snapshotClass()],
        [VolumeGroupSnapshotClasses, groupClass()],
      ],
    });
    const { store } = h;
    const claimOf = (name: string) => h.find(PersistentVolumeClaims, name, NS);
    const bound = (name: string) =>
      h.until(
        `${name} is bound`,
        async () => (await claimOf(name))?.status?.phase === "Bound",
        () => claimOf(name),
      );
    const { metadata, ...source } = pvc("src");
    await store.create(PersistentVolumeClaims, {
      ...source,
      metadata: { ...metadata, labels: { app: "db" } },
    });
    await bound("src");
    const volumeName = (await claimOf("src"))?.spec?.volumeName ?? "";
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: "a" } },
      spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: volumeName } },
    });
    const spec = { volumeAttributesClassName: "gold", resources: { requests: { storage: "2Gi" } } };
    await store.patch(
      PersistentVolumeClaims,
      { name: "src", namespace: NS },
      { type: "merge", body: { spec } },
    );
    await store.create(VolumeSnapshots, vs("snap"));
    await store.create(
      VolumeGroupSnapshots,
      fresh(groupSnapshot("group", { ...groupSnapshot("g").spec, volumeGroupSnapshotClassName: "groups" })),
    );
    await store.create(
      PersistentVolumeClaims,
      pvc("restored", { dataSource: SNAPSHOT, resources: { requests: { storage: "2Gi" } } }),
    );
    await bound("restored");
    await h.until(
      "it has grown and has its attributes",
      async () => {
        const { capacity, currentVolumeAttributesClassName } = (await claimOf("src"))?.status ?? {};
        return capacity?.storage === "2Gi" && currentVolumeAttributesClassName === "gold";
      },
      () => claimOf("src"),
    );
    const attached = async () => (await h.find(KubeVolumeAttachments, "a"))?.status;
    await h.until("it is attached", async () => (await attached())?.attached === true, attached);
    const group = async () => (await h.find(VolumeGroupSnapshots, "group", NS))?.status;
    await h.until("the group is ready", async () => (await group())?.readyToUse === true, group);

    await store.delete(KubeVolumeAttachments, { name: "a" });
    for (const [kind, name] of [
      [VolumeGroupSnapshots, "group"],
      [VolumeSnapshots, "snap"],
      [PersistentVolumeClaims, "restored"],
      [PersistentVolumeClaims, "src"],
    ] as const)
      await store.delete(kind as Resource, { name, namespace: NS });
    const left = async () => {
      const lists = await Promise.all(LEFT.map((kind) => store.list(kind as Resource)));
      return lists.flatMap(({ items }) => items.map((each) => `${each.kind} ${each.metadata.name}`));
    };
    await h.until("nothing is left", async () => (await left()).length === 0, left);
    const { backend } = h.driver;
    assert.deepEqual([backend.volumes.size, backend.snapshots.size, backend.groups.size], [0, 0, 0]);
    const unfinished = [...refused].filter(
      ([key, times]) => times <= TIMES && !key.startsWith("create ConfigMap"),
    );
    assert.deepEqual(unfinished, [], "what was refused was repeated");
    const kinds = new Set([...refused.keys()].map((key) => key.split(" ").slice(0, 2).join(" ")));
    for (const write of [
      "create PersistentVolume",
      "patch VolumeAttachment",
      "patch VolumeSnapshotContent",
      "delete VolumeGroupSnapshotContent",
    ])
      assert.ok(kinds.has(write), write);
  },
);
