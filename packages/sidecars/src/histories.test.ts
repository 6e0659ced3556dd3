import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CSINodes,
  isConflict,
  isStatus,
  type KubeObject,
  KubeVolumeAttachments,
  keyOf,
  type Logger,
  lastingSleepers,
  mutate,
  Nodes,
  PersistentVolumeClaims,
  PersistentVolumes,
  parseKey,
  type Resource,
  reconcileCounts,
  StorageClasses,
  silentLogger,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { currentPart } from "@mooring/store/testing";
import fc from "fast-check";
import { type Harness, startHarness } from "./testing/harness.ts";
import { csiNode, DRIVER, node, snapshotClass, storageClass } from "./testing/objects.ts";
import { pvc, vs } from "./testing/snapshot-world.ts";

/** Whatever a user, an administrator or somebody with kubectl and no patience may touch. */
const KINDS: readonly Resource<KubeObject>[] = [
  ...[PersistentVolumeClaims, PersistentVolumes, VolumeSnapshots, VolumeSnapshotContents],
  ...[KubeVolumeAttachments, StorageClasses, VolumeSnapshotClasses, Nodes],
] as unknown as Resource<KubeObject>[];

type Change =
  | { do: "claim" | "copy" | "restore" | "snapshot" | "attach" | "grow"; which: number }
  | { do: "delete" | "strip" | "touch"; kind: number; which: number }
  | { do: "classes" };

const which = fc.nat({ max: 2 });
/** Those that things are waited for on, first and most. */
const kind = fc.oneof(
  { weight: 4, arbitrary: fc.nat({ max: 4 }) },
  { weight: 1, arbitrary: fc.nat({ max: KINDS.length - 1 }) },
);
const change: fc.Arbitrary<Change> = fc.oneof(
  fc.record({
    do: fc.constantFrom(
      ...(["claim", "copy", "restore", "snapshot", "attach", "grow"] as const satisfies Change["do"][]),
    ),
    which,
  }),
  fc.record({ do: fc.constantFrom("delete" as const, "strip" as const, "touch" as const), kind, which }),
  fc.record({ do: fc.constant("classes" as const) }),
);

function source(kindOf: "PersistentVolumeClaim" | "VolumeSnapshot", name: string): object {
  const group = kindOf === "VolumeSnapshot" ? { apiGroup: "snapshot.storage.k8s.io" } : {};
  return { dataSource: { kind: kindOf, name, ...group } };
}

async function make({ store }: Harness, what: Change): Promise<void> {
  switch (what.do) {
    case "claim":
      return void (await store.create(PersistentVolumeClaims, pvc(`c${what.which}`)));
    case "copy": {
      const of = source("PersistentVolumeClaim", `c${what.which}`);
      return void (await store.create(PersistentVolumeClaims, pvc(`copy${what.which}`, of)));
    }
    case "restore": {
      const of = source("VolumeSnapshot", `s${what.which}`);
      return void (await store.create(PersistentVolumeClaims, pvc(`restored${what.which}`, of)));
    }
    case "snapshot": {
      const of = { source: { persistentVolumeClaimName: `c${what.which}` } };
      return void (await store.create(VolumeSnapshots, vs(`s${what.which}`, of)));
    }
    case "attach": {
      const { items } = await store.list(PersistentVolumes);
      const persistentVolumeName = items[what.which]?.metadata.name;
      if (persistentVolumeName === undefined) return;
      await store.create(KubeVolumeAttachments, {
        apiVersion: "storage.k8s.io/v1",
        kind: "VolumeAttachment",
        metadata: { name: `a-${persistentVolumeName}` },
        spec: { attacher: DRIVER, nodeName: "n", source: { persistentVolumeName } },
      });
      return;
    }
    case "grow": {
      const key = { namespace: "default", name: `c${what.which}` };
      await mutate(store, PersistentVolumeClaims, key, ({ spec }) => {
        if (spec?.resources?.requests) spec.resources.requests["storage"] = "2Gi";
      });
      return;
    }
    case "classes":
      await store.create(StorageClasses, storageClass()).catch(forgive);
      await store.create(VolumeSnapshotClasses, snapshotClass()).catch(forgive);
      await store.create(Nodes, node("n"));
      return;
    default:
      return disturb(store, what);
  }
}

async function disturb(store: Harness["store"], what: Extract<Change, { kind: number }>): Promise<void> {
  const resource = KINDS[what.kind];
  if (resource === undefined) return;
  const object = (await store.list(resource)).items[what.which];
  if (object === undefined) return;
  const key = parseKey(keyOf(object));
  if (what.do === "delete") return void (await store.delete(resource, key));
  await mutate(store, resource, key, ({ metadata }) => {
    if (what.do === "strip") metadata.finalizers = [];
    else metadata.labels = { ...metadata.labels, touched: String(Math.random()) };
  });
}

function forgive(error: unknown): void {
  if (!isConflict(error) && !isStatus(error, "NotFound", "AlreadyExists", "Invalid", "Forbidden"))
    throw error;
}

/** Notes what no back-off repairs: a controller that reads what it does not watch, for one. */
function defects(found: unknown[]): Logger {
  const note = (fields: object) => {
    const { err } = fields as { err?: unknown };
    if (err instanceof TypeError) found.push(err);
  };
  const logger: Logger = { ...silentLogger, warn: note, error: note, child: () => logger };
  return logger;
}

test("histories of random changes: no controller of a driver sleeps through what it has to do", async (t) => {
  const found: unknown[] = [];
  const h = await startHarness(t, {
    sidecars: { logger: defects(found) },
    objects: [
      [VolumeSnapshotClasses, snapshotClass()],
      [Nodes, node("n")],
    ],
  });
  await h.store.create(CSINodes, csiNode("n"));
  const numRuns = { everyday: 30, rest: 90, all: 90, deep: 2_000 }[currentPart()];
  await fc.assert(
    fc.asyncProperty(
      fc.array(change, { minLength: 4, maxLength: 20 }),
      fc.boolean(),
      async (history, atOnce) => {
        if (atOnce) await Promise.all(history.map((each) => make(h, each).catch(forgive)));
        else for (const each of history) await make(h, each).catch(forgive);
        assert.deepEqual(await lastingSleepers(), []);
        assert.deepEqual(found, []);
      },
    ),
    { numRuns, endOnFailure: true },
  );
  const forgotten = [...reconcileCounts()].filter(([, { resyncFound }]) => resyncFound > 0);
  assert.deepEqual(forgotten, []);
});
