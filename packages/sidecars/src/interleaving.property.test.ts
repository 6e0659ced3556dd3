import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  ConfigMaps,
  CSINodes,
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  type ObjectKey,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { howMany } from "@mooring/store/testing";
import fc from "fast-check";
import { type Harness, startHarness } from "./testing/harness.ts";
import { claim, csiNode, DRIVER, snapshotClass, storageClass, volumeSnapshot } from "./testing/objects.ts";

const NAMES = ["a", "b", "c"];
const METHODS = [
  "CreateVolume",
  "DeleteVolume",
  "CreateSnapshot",
  "DeleteSnapshot",
  "ControllerPublishVolume",
  "ControllerUnpublishVolume",
  "ControllerExpandVolume",
];
const CODES = [Code.UNAVAILABLE, Code.DEADLINE_EXCEEDED, Code.ABORTED, Code.INTERNAL, Code.INVALID_ARGUMENT];

const DEEDS = [
  "create",
  "delete",
  "restore",
  "clone",
  "snapshot",
  "drop-snapshot",
  "attach",
  "detach",
  "expand",
] as const;

type Action =
  | { do: (typeof DEEDS)[number]; name: string; from: string }
  | { do: "fault"; method: string; code: number; effect: boolean; times: number }
  | { do: "replace-class"; tier: string }
  | { do: "restart" }
  | { do: "pause"; ms: number };

const name = fc.constantFrom(...NAMES);
const action: fc.Arbitrary<Action> = fc.oneof(
  {
    weight: 8,
    arbitrary: fc.record({
      do: fc.constantFrom("create", ...DEEDS),
      name,
      from: name,
    }),
  },
  {
    weight: 4,
    arbitrary: fc.record({
      do: fc.constant("fault" as const),
      method: fc.constantFrom(...METHODS),
      code: fc.constantFrom(...CODES),
      effect: fc.boolean(),
      times: fc.integer({ min: 1, max: 3 }),
    }),
  },
  {
    weight: 1,
    arbitrary: fc.record({ do: fc.constant("replace-class" as const), tier: fc.constantFrom("x", "y") }),
  },
  { weight: 1, arbitrary: fc.constant<Action>({ do: "restart" }) },
  {
    weight: 4,
    arbitrary: fc.record({ do: fc.constant("pause" as const), ms: fc.integer({ min: 0, max: 30 }) }),
  },
) as fc.Arbitrary<Action>;

const at = (of: string): ObjectKey => ({ namespace: "default", name: of });

async function create(h: Harness, resource: Resource, object: KubeObject): Promise<void> {
  const { uid: _uid, ...metadata } = object.metadata;
  await h.store.create(resource, { ...object, metadata }).catch((error: unknown) => {
    if (!isAlreadyExists(error)) throw error;
  });
}

async function remove(h: Harness, resource: Resource, key: ObjectKey): Promise<void> {
  await h.store.delete(resource, key).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/**
 * A driver may fail in any way at any time, but it does not call its own work impossible: INVALID_ARGUMENT is for
 * requests that never had an effect. And what has had its effect in this very call is not refused.
 */
function mayFail(
  { driver }: Harness,
  { code, effect, method }: Extract<Action, { do: "fault" }>,
  request: object,
): boolean {
  if (!method.startsWith("Create") || (code !== Code.INTERNAL && code !== Code.INVALID_ARGUMENT)) return true;
  if (effect) return false;
  const { volumes, snapshots } = driver.backend;
  const { name: wanted } = request as { name: string };
  const exists = [...volumes.values(), ...snapshots.values()].some((each) => each.name === wanted);
  return code === Code.INTERNAL || !exists;
}

async function act(h: Harness, step: Action): Promise<void> {
  const newClaim = (of: string, spec: object) =>
    create(h, PersistentVolumeClaims, claim(of, spec, { annotations: {} }));
  switch (step.do) {
    case "create":
      return newClaim(step.name, {});
    case "restore":
      return newClaim(step.name, {
        dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: step.from },
      });
    case "clone":
      return newClaim(step.name, { dataSource: { kind: "PersistentVolumeClaim", name: step.from } });
    case "delete":
      return remove(h, PersistentVolumeClaims, at(step.name));
    case "snapshot": {
      const spec = { source: { persistentVolumeClaimName: step.from }, volumeSnapshotClassName: "snaps" };
      return create(h, VolumeSnapshots, volumeSnapshot(step.name, spec));
    }
    case "drop-snapshot":
      return remove(h, VolumeSnapshots, at(step.name));
    case "attach":
      return attach(h, step.name);
    case "detach":
      return remove(h, KubeVolumeAttachments, { name: step.name });
    case "expand":
      return expand(h, step.name);
    case "fault":
      return h.driver.faults.add({ ...step, when: (request) => mayFail(h, step, request) });
    case "replace-class":
      await remove(h, StorageClasses, { name: "fast" });
      return create(h, StorageClasses, storageClass({ parameters: { tier: step.tier } }));
    case "restart":
      return h.restart();
    case "pause":
      return void (await new Promise((resolve) => setTimeout(resolve, step.ms)));
  }
}

async function attach(h: Harness, of: string): Promise<void> {
  const found = await h.find(PersistentVolumeClaims, of, "default");
  const persistentVolumeName = found?.spec?.volumeName;
  if (found?.metadata.deletionTimestamp !== undefined || !persistentVolumeName) return;
  await create(h, KubeVolumeAttachments, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name: of },
    spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName } },
  } as KubeObject);
}

async function expand(h: Harness, of: string): Promise<void> {
  const body = { spec: { resources: { requests: { storage: "2Gi" } } } };
  const found = await h.find(PersistentVolumeClaims, of, "default");
  if (found?.status?.phase !== "Bound") return;
  await h.store.patch(PersistentVolumeClaims, at(of), { type: "merge", body }).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
}

/** Everything is deleted, and nothing goes wrong any more: then nothing may be left. */
async function cleanUp(h: Harness): Promise<void> {
  h.driver.faults.clear();
  for (const each of NAMES) {
    await remove(h, PersistentVolumeClaims, at(each));
    await remove(h, VolumeSnapshots, at(each));
    await remove(h, KubeVolumeAttachments, { name: each });
  }
  const kinds: Resource[] = [
    KubeVolumeAttachments,
    PersistentVolumeClaims,
    VolumeSnapshots,
    VolumeSnapshotContents,
    PersistentVolumes,
    ConfigMaps,
  ];
  const left = async (): Promise<string[]> => {
    const lists = await Promise.all(kinds.map((kind) => h.store.list(kind)));
    const { volumes, snapshots } = h.driver.backend;
    return [
      ...lists.flatMap(({ items }) => items.map(({ kind, metadata }) => `${kind} ${metadata.name}`)),
      ...[...volumes.values(), ...snapshots.values()].map((each) => `backend ${each.name}`),
    ];
  };
  await h.until("nothing is left", async () => (await left()).length === 0, left);
}

test("users, faults and restarts in any order never leave a volume or a snapshot behind", async (t) => {
  const h = await startHarness(t, {
    objects: [
      [VolumeSnapshotClasses, snapshotClass()],
      [CSINodes, csiNode("n1")],
    ],
  });
  await fc.assert(
    fc.asyncProperty(fc.array(action, { minLength: 5, maxLength: 30 }), async (actions) => {
      for (const each of actions) await act(h, each);
      const { volumes } = h.driver.backend;
      const names = [...volumes.values()].map((volume) => volume.name);
      assert.equal(new Set(names).size, names.length);
      await cleanUp(h);
    }),
    {
      numRuns: howMany({ everyday: 8, full: 25, deep: 500 }),
      endOnFailure: true,
      includeErrorInReport: true,
    },
  );
});
