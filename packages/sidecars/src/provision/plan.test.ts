// biome-ignore-all lint/suspicious/noTemplateCurlyInString: class parameters look like that

import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeAttributesClass } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { SELECTED_NODE } from "../common/names.ts";
import {
  claim,
  csiNode,
  driverInfo,
  node,
  persistentVolume,
  snapshotContent,
  storageClass,
  volumeSnapshot,
} from "../testing/objects.ts";
import { type PlanInput, PROVISION_DEFAULTS, plan } from "./plan.ts";

const P = "csi.storage.k8s.io/";
const all = driverInfo(["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT", "CLONE_VOLUME", "MODIFY_VOLUME"]);
const base: PlanInput = {
  claim: claim("data"),
  storageClass: storageClass(),
  driver: all,
  options: PROVISION_DEFAULTS,
  source: {},
  nodes: [],
  csiNodes: [],
  attributesClass: undefined,
};
const make = (changes: Partial<PlanInput>) => plan({ ...base, ...changes });
const intentOf = (changes: Partial<PlanInput>) => {
  const result = make(changes);
  assert.equal(result.kind, "intent", JSON.stringify(result));
  return result.kind === "intent" ? result.intent : assert.fail();
};
const rejects = (changes: Partial<PlanInput>, pattern: RegExp) => {
  const result = make(changes);
  assert.match(result.kind === "error" ? result.error : result.kind, pattern);
};

test("a plain claim: name from the UID, size from the request, parameters as they are", () => {
  covers("K8S-025", "K8S-026", "K8S-027");
  const intent = intentOf({ storageClass: storageClass({ parameters: { tier: "gold" } }) });
  assert.deepEqual(intent.arguments, {
    name: "pvc-uid-data",
    capacityRange: { requiredBytes: String(1024 ** 3) },
    volumeCapabilities: [{ mode: "SINGLE_NODE_WRITER", mount: { fsType: "", mountFlags: [] } }],
    parameters: { tier: "gold" },
  });
  assert.equal(intent.secret, undefined);
});

test("equal claims give equal intents", () => {
  assert.equal(JSON.stringify(intentOf({})), JSON.stringify(intentOf({})));
});

test("names can have another prefix and a shorter UID", () => {
  const options = { ...PROVISION_DEFAULTS, volumeNamePrefix: "vol", volumeNameUuidLength: 4 };
  const named = claim("data", {}, { uid: "12-34-56" });
  assert.equal(intentOf({ options, claim: named }).arguments.name, "vol-1234");
});

test("reserved keys choose secrets and the file system, and never reach the driver", () => {
  covers("K8S-110");
  const parameters = {
    tier: "gold",
    [`${P}secret-name`]: "all",
    [`${P}secret-namespace`]: "infra",
    [`${P}node-stage-secret-name`]: "stage-${pvc.name}",
    [`${P}node-stage-secret-namespace`]: "${pvc.namespace}",
    [`${P}fstype`]: "xfs",
  };
  const intent = intentOf({ storageClass: storageClass({ parameters }) });
  assert.deepEqual(intent.arguments.parameters, { tier: "gold" });
  assert.deepEqual(intent.secret, { name: "all", namespace: "infra" });
  assert.deepEqual(intent.volume.secretRefs.nodeStageSecretRef, { name: "stage-data", namespace: "default" });
  assert.deepEqual(intent.volume.secretRefs.controllerExpandSecretRef, { name: "all", namespace: "infra" });
  assert.deepEqual(intent.volume.modifySecret, { name: "all", namespace: "infra" });
  assert.equal(intent.volume.fsType, "xfs");
  const legacy = { csiProvisionerSecretName: "s", csiProvisionerSecretNamespace: "n", fsType: "ext4" };
  const old = intentOf({ storageClass: storageClass({ parameters: legacy }) });
  assert.deepEqual(old.secret, { name: "s", namespace: "n" });
  assert.deepEqual(old.arguments.parameters, { fsType: "ext4" });
  assert.equal(old.volume.fsType, "ext4");
});

test("bad parameters", () => {
  const withParameters = (parameters: Record<string, string>) => ({
    storageClass: storageClass({ parameters }),
  });
  rejects(withParameters({ [`${P}fstype`]: "xfs", fstype: "ext4" }), /more than once/);
  rejects(
    withParameters({ [`${P}secret-nam`]: "x" }),
    /unknown parameter key "csi.storage.k8s.io\/secret-nam" with reserved/,
  );
  rejects(
    withParameters({ [`${P}secret-name`]: "${nope}", [`${P}secret-namespace`]: "n" }),
    /invalid tokens/,
  );
});

test("the three metadata parameters are added on request", () => {
  const options = { ...PROVISION_DEFAULTS, extraCreateMetadata: true };
  assert.deepEqual(intentOf({ options }).arguments.parameters, {
    [`${P}pvc/name`]: "data",
    [`${P}pvc/namespace`]: "default",
    [`${P}pv/name`]: "pvc-uid-data",
  });
});

test("volume modes, access modes, mount options", () => {
  covers("CSI-083", "CSI-085");
  const withOptions = storageClass({ mountOptions: ["noatime"] });
  const block = intentOf({ claim: claim("data", { volumeMode: "Block" }), storageClass: withOptions });
  assert.deepEqual(block.arguments.volumeCapabilities, [{ mode: "SINGLE_NODE_WRITER" }]);
  assert.deepEqual(block.volume.mountOptions, ["noatime"]);
  const accessModes = ["ReadWriteOncePod", "ReadOnlyMany"];
  const driver = driverInfo(["CREATE_DELETE_VOLUME", "SINGLE_NODE_MULTI_WRITER"]);
  const mounted = intentOf({ claim: claim("data", { accessModes }), storageClass: withOptions, driver });
  assert.deepEqual(mounted.arguments.volumeCapabilities, [
    { mode: "SINGLE_NODE_SINGLE_WRITER", mount: { fsType: "", mountFlags: ["noatime"] } },
    { mode: "MULTI_NODE_READER_ONLY", mount: { fsType: "", mountFlags: ["noatime"] } },
  ]);
  rejects({ claim: claim("data", { accessModes: ["ReadSometimes"] }) }, /unsupported access mode/);
});

test("readOnly only for a single reader-only capability, and only on request", () => {
  const readers = claim("data", { accessModes: ["ReadOnlyMany"] });
  const options = { ...PROVISION_DEFAULTS, controllerPublishReadonly: true };
  assert.equal(intentOf({ claim: readers, options }).volume.readOnly, true);
  assert.equal(intentOf({ claim: readers }).volume.readOnly, undefined);
  assert.equal(intentOf({ options }).volume.readOnly, undefined);
});

test("missing capabilities and unsupported claims are refused before anything is asked of the driver", () => {
  const plain = driverInfo(["CREATE_DELETE_VOLUME"]);
  const kind = (kindName: string, apiGroup?: string) =>
    claim("data", { dataSource: { kind: kindName, name: "src", ...(apiGroup ? { apiGroup } : {}) } });
  rejects({ driver: driverInfo([]) }, /does not support CREATE_DELETE_VOLUME/);
  rejects({ driver: driverInfo([], { controller: false }) }, /no controller service/);
  rejects(
    { driver: plain, claim: kind("VolumeSnapshot", "snapshot.storage.k8s.io") },
    /CREATE_DELETE_SNAPSHOT/,
  );
  rejects({ driver: plain, claim: kind("PersistentVolumeClaim") }, /CLONE_VOLUME/);
  rejects({ driver: plain, claim: claim("data", { volumeAttributesClassName: "v" }) }, /MODIFY_VOLUME/);
  rejects({ claim: claim("data", { selector: {} }) }, /Selector is not supported/);
  rejects({ claim: claim("data", { dataSource: { kind: "PersistentVolumeClaim", name: "" } }) }, /no name/);
});

test("data sources of other kinds are left to populators", () => {
  const dataSourceRef = { apiGroup: "hello.example.com", kind: "Hello", name: "world" };
  assert.deepEqual(make({ claim: claim("data", { dataSourceRef }) }), {
    kind: "foreign",
    what: "Hello.hello.example.com",
  });
  const elsewhere = {
    apiGroup: "snapshot.storage.k8s.io",
    kind: "VolumeSnapshot",
    name: "s",
    namespace: "other",
  };
  const refused = make({ claim: claim("data", { dataSourceRef: elsewhere }) });
  assert.match(refused.kind === "error" ? refused.error : "", /other\/s of VolumeSnapshot .* isn't allowed/);
  const everybody = { granted: true, unpopulated: true };
  assert.deepEqual(make({ claim: claim("data", { dataSourceRef }), sourceRules: everybody }), {
    kind: "foreign",
    what: "Hello.hello.example.com",
    unpopulated: true,
  });
});

test("VolumeAttributesClass: must exist and be for this driver", () => {
  const attributed = claim("data", { volumeAttributesClassName: "gold" });
  const attributesClass: VolumeAttributesClass = {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttributesClass",
    metadata: { name: "gold" },
    driverName: all.name,
    parameters: { iops: "100" },
  };
  assert.deepEqual(intentOf({ claim: attributed, attributesClass }).arguments.mutableParameters, {
    iops: "100",
  });
  rejects({ claim: attributed }, /does not exist/);
  rejects({ claim: attributed, attributesClass: { ...attributesClass, driverName: "x" } }, /is for driver x/);
});

test("a selected node that is gone is chosen again", () => {
  const late = claim("data", {}, { annotations: { [SELECTED_NODE]: "n1" } });
  const driver = driverInfo(["CREATE_DELETE_VOLUME"], { topology: true });
  assert.equal(make({ claim: late, driver }).kind, "reschedule");
  const intent = intentOf({
    claim: late,
    driver,
    nodes: [node("n1", { zone: "a" })],
    csiNodes: [csiNode("n1", ["zone"])],
  });
  assert.equal(intent.selectedNode, "n1");
  assert.deepEqual(intent.arguments.accessibilityRequirements?.preferred, [{ zone: "a" }]);
});

const restored = claim("data", {
  dataSource: { apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot", name: "snap" },
});
const ready = { boundVolumeSnapshotContentName: "content", readyToUse: true, restoreSize: "1Gi" };
const source = { persistentVolumeClaimName: "src" };
const snap = volumeSnapshot("snap", { source }, {}, ready);
const content = snapshotContent("content", {}, {}, { snapshotHandle: "snap-1" });

test("restore from a snapshot", () => {
  const intent = intentOf({ claim: restored, source: { snapshot: snap, content } });
  assert.deepEqual(intent.arguments.volumeContentSource, { snapshotId: "snap-1" });
  assert.deepEqual(intent.source, {
    kind: "VolumeSnapshot",
    namespace: "default",
    name: "snap",
    uid: "uid-snap",
  });
});

const mode = (annotation?: string) =>
  snapshotContent(
    "content",
    { sourceVolumeMode: "Block" },
    annotation === undefined
      ? {}
      : { annotations: { "snapshot.storage.kubernetes.io/allow-volume-mode-change": annotation } },
    { snapshotHandle: "snap-1" },
  );
const snapshotRows: [title: string, source: PlanInput["source"], result: RegExp][] = [
  ["missing", {}, /snapshot snap does not exist/],
  [
    "being deleted",
    { snapshot: volumeSnapshot("snap", { source }, { deletionTimestamp: "t" }, ready), content },
    /being deleted/,
  ],
  [
    "being deleted, but kept for us",
    {
      snapshot: volumeSnapshot(
        "snap",
        { source },
        {
          deletionTimestamp: "t",
          finalizers: ["provisioner.storage.kubernetes.io/volumesnapshot-as-source-protection"],
        },
        ready,
      ),
      content,
    },
    /^intent$/,
  ],
  ["not bound", { snapshot: volumeSnapshot("snap") }, /not bound/],
  ["content missing", { snapshot: snap }, /content of snapshot snap does not exist/],
  [
    "content of another snapshot",
    {
      snapshot: snap,
      content: snapshotContent("content", {
        volumeSnapshotRef: { name: "snap", namespace: "default", uid: "x" },
      }),
    },
    /do not refer to each other/,
  ],
  ["other driver", { snapshot: snap, content: snapshotContent("content", { driver: "x" }) }, /of driver x/],
  [
    "not ready",
    { snapshot: volumeSnapshot("snap", { source }, {}, { ...ready, readyToUse: false }), content },
    /not ready/,
  ],
  ["no handle", { snapshot: snap, content: snapshotContent("content") }, /no snapshot handle/],
  [
    "too small",
    { snapshot: volumeSnapshot("snap", { source }, {}, { ...ready, restoreSize: "2Gi" }), content },
    /smaller than snapshot/,
  ],
  [
    "smaller snapshot",
    { snapshot: volumeSnapshot("snap", { source }, {}, { ...ready, restoreSize: "1Mi" }), content },
    /^intent$/,
  ],
  ["other volume mode", { snapshot: snap, content: mode() }, /needs the annotation/],
  ["other volume mode, allowed", { snapshot: snap, content: mode("true") }, /^intent$/],
  [
    "other volume mode, nonsense in the annotation",
    { snapshot: snap, content: mode("yes please") },
    /needs the annotation/,
  ],
];
for (const [title, objects, result] of snapshotRows)
  test(`restore from a snapshot: ${title}`, () => rejects({ claim: restored, source: objects }, result));

const cloned = claim("data", { dataSource: { kind: "PersistentVolumeClaim", name: "src" } });
const bound = { phase: "Bound" };
const src = claim("src", { volumeName: "pv" }, {}, bound);
const claimRef = { name: "src", namespace: "default", uid: "uid-src" };
const pv = persistentVolume("pv", { claimRef }, {}, bound);
const cloneRows: [title: string, source: PlanInput["source"], result: RegExp][] = [
  ["ok", { claim: src, volume: pv }, /^intent$/],
  [
    "other class",
    { claim: claim("src", { volumeName: "pv", storageClassName: "slow" }, {}, bound), volume: pv },
    /^intent$/,
  ],
  ["missing", {}, /does not exist/],
  ["unbound", { claim: claim("src") }, /not bound/],
  [
    "being deleted",
    { claim: claim("src", { volumeName: "pv" }, { deletionTimestamp: "t" }, bound), volume: pv },
    /being deleted/,
  ],
  [
    "larger",
    {
      claim: claim("src", { volumeName: "pv", resources: { requests: { storage: "2Gi" } } }, {}, bound),
      volume: pv,
    },
    /smaller than source/,
  ],
  ["volume missing", { claim: src }, /volume pv of source claim src does not exist/],
  [
    "other driver",
    {
      claim: src,
      volume: persistentVolume("pv", { claimRef, csi: { driver: "x", volumeHandle: "h" } }, {}, bound),
    },
    /of driver x/,
  ],
  [
    "volume of another claim",
    { claim: src, volume: persistentVolume("pv", { claimRef: { ...claimRef, uid: "x" } }, {}, bound) },
    /does not belong/,
  ],
  ["volume not bound", { claim: src, volume: persistentVolume("pv", { claimRef }) }, /is not bound/],
  [
    "other volume mode",
    { claim: src, volume: persistentVolume("pv", { claimRef, volumeMode: "Block" }, {}, bound) },
    /different volume modes/,
  ],
];
for (const [title, objects, result] of cloneRows)
  test(`clone of a claim: ${title}`, () => rejects({ claim: cloned, source: objects }, result));
