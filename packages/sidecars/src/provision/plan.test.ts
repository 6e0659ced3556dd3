// biome-ignore-all lint/suspicious/noTemplateCurlyInString: class parameters look like that

import assert from "node:assert/strict";
import { test } from "node:test";
import type { VolumeAttributesClass } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { SELECTED_NODE } from "../common/names.ts";
import { claim, csiNode, driverInfo, node, storageClass } from "../testing/objects.ts";
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
  assert.deepEqual(old.arguments.parameters, legacy, "as external-provisioner passes them on");
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
