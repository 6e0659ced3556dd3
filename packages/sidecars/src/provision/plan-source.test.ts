import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, VolumeSnapshot } from "@mooring/store";
import {
  claim,
  driverInfo,
  persistentVolume,
  snapshotContent,
  storageClass,
  volumeSnapshot,
} from "../testing/objects.ts";
import { type PlanInput, PROVISION_DEFAULTS, plan } from "./plan.ts";

/** What external-provisioner tests of data sources (TestProvisionFromSnapshot, TestProvisionFromPVC), as inputs and plans. */
const base: PlanInput = {
  claim: claim("data"),
  storageClass: storageClass(),
  driver: driverInfo(["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT", "CLONE_VOLUME"]),
  options: PROVISION_DEFAULTS,
  source: {},
  ...{ nodes: [], csiNodes: [], attributesClass: undefined },
};

type Source = PlanInput["source"];
type Row = readonly [title: string, source: Source, result: RegExp, changes?: Partial<PlanInput>];

function matches([, source, result, changes]: Row): void {
  const found = plan({ ...base, source, ...changes });
  assert.match(found.kind === "error" ? found.error : found.kind, result);
}

const restoredFrom = (
  name: string,
  { kind = "VolumeSnapshot", apiGroup = "snapshot.storage.k8s.io" } = {},
): Partial<PlanInput> => ({ claim: claim("data", { dataSource: { apiGroup, kind, name } }) });
const ready = { boundVolumeSnapshotContentName: "content", readyToUse: true, restoreSize: "1Gi" };
const snapshotWith = (status?: VolumeSnapshot["status"], metadata: object = {}) =>
  volumeSnapshot("snap", { source: { persistentVolumeClaimName: "src" } }, metadata, status);
const snapshot = snapshotWith(ready);
const held = { snapshotHandle: "snap-1" };
const content = snapshotContent("content", {}, {}, held);
/** Its reference to the snapshot differs in one field. */
const contentOf = (changes: object) => {
  const volumeSnapshotRef = { name: "snap", namespace: "default", uid: "uid-snap", ...changes };
  return snapshotContent("content", { volumeSnapshotRef }, {}, held);
};
const ALLOW = "snapshot.storage.kubernetes.io/allow-volume-mode-change";
const blockContent = (allow?: string) =>
  snapshotContent(
    ...(["content", { sourceVolumeMode: "Block" }] as const),
    allow === undefined ? {} : { annotations: { [ALLOW]: allow } },
    held,
  );
const KEPT = ["provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"];
const deletionTimestamp = "t";

const SNAPSHOTS: readonly Row[] = [
  ["all is there", { snapshot, content }, /^intent$/],
  ["missing", {}, /snapshot snap does not exist/],
  ["an empty name", {}, /no name/, restoredFrom("")],
  ["another kind of its group", {}, /^foreign$/, restoredFrom("snap", { kind: "Unknown" })],
  ["its kind in another group", {}, /^foreign$/, restoredFrom("snap", { apiGroup: "x.example.com" })],
  ["being deleted", { snapshot: snapshotWith(ready, { deletionTimestamp }), content }, /being deleted/],
  [
    "being deleted, and kept by others",
    { snapshot: snapshotWith(ready, { deletionTimestamp, finalizers: ["x"] }), content },
    /being deleted/,
  ],
  [
    "being deleted, but kept for us",
    { snapshot: snapshotWith(ready, { deletionTimestamp, finalizers: KEPT }), content },
    /^intent$/,
  ],
  ["no status", { snapshot: snapshotWith(), content }, /not bound/],
  ["not bound", { snapshot: snapshotWith({ readyToUse: true }), content }, /not bound/],
  ["content missing", { snapshot }, /content of snapshot snap does not exist/],
  ["content of another snapshot", { snapshot, content: contentOf({ uid: "x" }) }, /do not refer to each/],
  [
    "content of a snapshot in another namespace",
    { snapshot, content: contentOf({ namespace: "x" }) },
    /do not refer to each/,
  ],
  [
    "content of a snapshot of another name",
    { snapshot, content: contentOf({ name: "x" }) },
    /do not refer to each/,
  ],
  ["other driver", { snapshot, content: snapshotContent("content", { driver: "x" }) }, /of driver x/],
  ["not ready", { snapshot: snapshotWith({ ...ready, readyToUse: false }), content }, /not ready/],
  [
    "nothing says that it is ready",
    { snapshot: snapshotWith({ boundVolumeSnapshotContentName: "content" }), content },
    /not ready/,
  ],
  ["content without status", { snapshot, content: snapshotContent("content") }, /no snapshot handle/],
  ["no handle", { snapshot, content: snapshotContent("content", {}, {}, {}) }, /no snapshot handle/],
  [
    "too small",
    { snapshot: snapshotWith({ ...ready, restoreSize: "2Gi" }), content },
    /smaller than snapshot/,
  ],
  ["smaller snapshot", { snapshot: snapshotWith({ ...ready, restoreSize: "1Mi" }), content }, /^intent$/],
  ["other volume mode", { snapshot, content: blockContent() }, /needs the annotation/],
  ["other volume mode, allowed", { snapshot, content: blockContent("true") }, /^intent$/],
  [
    "other volume mode, nonsense in the annotation",
    { snapshot, content: blockContent("yes please") },
    /needs the annotation/,
  ],
  [
    "other volume mode, and nobody minds",
    { snapshot, content: blockContent() },
    /^intent$/,
    {
      ...restoredFrom("snap"),
      options: { ...PROVISION_DEFAULTS, preventVolumeModeConversion: false },
    },
  ],
];
for (const [title, source, result, changes = restoredFrom("snap")] of SNAPSHOTS)
  test(`restore from a snapshot: ${title}`, () => matches([title, source, result, changes]));

test("a restore has the snapshot's handle, and says which snapshot is to be kept", () => {
  const made = plan({ ...base, ...restoredFrom("snap"), source: { snapshot, content } });
  assert.ok(made.kind === "intent");
  assert.deepEqual(made.intent.arguments.volumeContentSource, { snapshotId: "snap-1" });
  assert.deepEqual(made.intent.source, {
    ...{ kind: "VolumeSnapshot", namespace: "default", name: "snap", uid: "uid-snap" },
  });
});

type Claim = NonNullable<PersistentVolumeClaim["spec"]>;
const dataSource = { kind: "PersistentVolumeClaim", name: "src" };
/** The claim that is to be made, of this mode. */
const cloned = (changes: { [K in keyof Claim]?: Claim[K] | undefined } = {}): Partial<PlanInput> => ({
  claim: claim("data", { dataSource, ...(changes as Claim) }),
});
const sourceIs = (spec: object = {}, phase = "Bound", metadata: object = {}) =>
  claim("src", { volumeName: "pv", ...spec }, metadata, { phase });
const claimRef = { name: "src", namespace: "default", uid: "uid-src" };
const volumeIs = (spec: object = {}, phase = "Bound") =>
  persistentVolume("pv", { claimRef, ...spec }, {}, { phase });
const src = sourceIs();
const volume = volumeIs();
const size = (storage: string) => ({ resources: { requests: { storage } } });
const modeOf = (volumeMode?: string): Source => ({ claim: src, volume: volumeIs({ volumeMode }) });
const OTHER_MODE = /different volume modes/;

const CLAIMS: readonly Row[] = [
  ["ok", { claim: src, volume }, /^intent$/],
  [
    "the driver cannot",
    { claim: src, volume },
    /CLONE_VOLUME/,
    { ...cloned(), driver: driverInfo(["CREATE_DELETE_VOLUME"]) },
  ],
  ["other class", { claim: sourceIs({ storageClassName: "slow" }), volume }, /^intent$/],
  [
    "source without a class",
    { claim: sourceIs({ storageClassName: undefined }), volume },
    /a storage class name/,
  ],
  [
    "no class of its own",
    { claim: src, volume },
    /a storage class name/,
    cloned({ storageClassName: undefined }),
  ],
  ["larger source", { claim: sourceIs(size("2Gi")), volume }, /smaller than source/],
  ["smaller source", { claim: sourceIs(size("1Mi")), volume }, /^intent$/],
  ["missing", {}, /does not exist/],
  ["unbound", { claim: sourceIs({}, "Pending"), volume }, /not bound/],
  ["lost", { claim: sourceIs({}, "Lost"), volume }, /not bound/],
  ["being deleted", { claim: sourceIs({}, "Bound", { deletionTimestamp }), volume }, /being deleted/],
  ["volume missing", { claim: src }, /volume pv of source claim src does not exist/],
  ["volume of no driver", { claim: src, volume: volumeIs({ csi: undefined }) }, /not a CSI volume/],
  [
    "volume of another driver",
    { claim: src, volume: volumeIs({ csi: { driver: "x", volumeHandle: "h" } }) },
    /of driver x/,
  ],
  ["volume of no claim", { claim: src, volume: volumeIs({ claimRef: undefined }) }, /does not belong/],
  [
    "volume of another claim",
    { claim: src, volume: volumeIs({ claimRef: { ...claimRef, uid: "x" } }) },
    /does not belong/,
  ],
  [
    "volume of a claim in another namespace",
    { claim: src, volume: volumeIs({ claimRef: { ...claimRef, namespace: "x" } }) },
    /does not belong/,
  ],
  [
    "volume of a claim of another name",
    { claim: src, volume: volumeIs({ claimRef: { ...claimRef, name: "x" } }) },
    /does not belong/,
  ],
  ["volume released", { claim: src, volume: volumeIs({}, "Released") }, /is not bound/],
  ["volume failed", { claim: src, volume: volumeIs({}, "Failed") }, /is not bound/],
  ["volume pending", { claim: src, volume: volumeIs({}, "Pending") }, /is not bound/],
  ["volume available", { claim: src, volume: volumeIs({}, "Available") }, /is not bound/],
  ["block from block", modeOf("Block"), /^intent$/, cloned({ volumeMode: "Block" })],
  ["block from a file system", modeOf("Filesystem"), OTHER_MODE, cloned({ volumeMode: "Block" })],
  ["block from what says nothing", modeOf(), OTHER_MODE, cloned({ volumeMode: "Block" })],
  ["neither says anything", modeOf(), /^intent$/],
  ["nothing said, from block", modeOf("Block"), OTHER_MODE],
  [
    "a file system from a file system",
    modeOf("Filesystem"),
    /^intent$/,
    cloned({ volumeMode: "Filesystem" }),
  ],
  ["a file system from block", modeOf("Block"), OTHER_MODE, cloned({ volumeMode: "Filesystem" })],
  ["a file system from what says nothing", modeOf(), /^intent$/, cloned({ volumeMode: "Filesystem" })],
];
for (const [title, source, result, changes = cloned()] of CLAIMS)
  test(`clone of a claim: ${title}`, () => matches([title, source, result, changes]));

const elsewhere = (apiGroup: string | undefined, kind: string): Partial<PlanInput> => ({
  claim: claim("data", {
    dataSourceRef: {
      ...(apiGroup && { apiGroup }),
      kind,
      name: kind === "VolumeSnapshot" ? "snap" : "src",
      namespace: "other",
    },
  }),
});
const there = { namespace: "other" };
const otherSnapshot = { snapshot: snapshotWith(ready, there), content: contentOf(there) };
const otherClaim = {
  claim: sourceIs({}, "Bound", there),
  volume: volumeIs({ claimRef: { ...claimRef, ...there } }),
};
const SNAPSHOT_GROUP = "snapshot.storage.k8s.io";
const granted = { granted: true, unpopulated: false };

const ELSEWHERE: readonly Row[] = [
  [
    "a snapshot, granted",
    otherSnapshot,
    /^intent$/,
    { ...elsewhere(SNAPSHOT_GROUP, "VolumeSnapshot"), sourceRules: granted },
  ],
  ["a snapshot, not granted", otherSnapshot, /isn't allowed/, elsewhere(SNAPSHOT_GROUP, "VolumeSnapshot")],
  [
    "a claim, granted",
    otherClaim,
    /^intent$/,
    { ...elsewhere("", "PersistentVolumeClaim"), sourceRules: granted },
  ],
  [
    "a claim without a group, granted",
    otherClaim,
    /^intent$/,
    { ...elsewhere(undefined, "PersistentVolumeClaim"), sourceRules: granted },
  ],
  ["a claim, not granted", otherClaim, /isn't allowed/, elsewhere("", "PersistentVolumeClaim")],
  [
    "another kind of the core, granted",
    otherClaim,
    /^foreign$/,
    { ...elsewhere(undefined, "Unknown"), sourceRules: granted },
  ],
];
for (const row of ELSEWHERE) test(`a source in another namespace: ${row[0]}`, () => matches(row));
