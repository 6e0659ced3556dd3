// biome-ignore-all lint/suspicious/noTemplateCurlyInString: class parameters look like that
import assert from "node:assert/strict";
import { test } from "node:test";
import type { PersistentVolumeClaim, VolumeAttributesClass } from "@mooring/store";
import { SELECTED_NODE } from "../common/names.ts";
import { claim, csiNode, DRIVER, driverInfo, node, storageClass } from "../testing/objects.ts";
import { type PlanInput, PROVISION_DEFAULTS, type ProvisionOptions, plan } from "./plan.ts";

/** What external-provisioner tests of plain claims (TestProvision, TestFSTypeProvision), as inputs and parts of plans. */
const P = "csi.storage.k8s.io/";
const driver = driverInfo(["CREATE_DELETE_VOLUME", "MODIFY_VOLUME"]);
const base: PlanInput = {
  ...{ claim: claim("data"), storageClass: storageClass(), driver, options: PROVISION_DEFAULTS },
  ...{ source: {}, nodes: [], csiNodes: [], attributesClass: undefined },
};
const of = (parameters: Record<string, string>, changes = {}) => ({
  storageClass: storageClass({ parameters, ...changes }),
});
const withOptions = (options: Partial<ProvisionOptions>) => ({
  options: { ...PROVISION_DEFAULTS, ...options },
});
const modes = (...accessModes: string[]) => ({ claim: claim("data", { accessModes }) });
const capability = (mode: string, fsType = "", mountFlags: string[] = []) => ({
  mode,
  mount: { fsType, mountFlags },
});
const FINE = driverInfo(["CREATE_DELETE_VOLUME", "SINGLE_NODE_MULTI_WRITER"]);
const gold: VolumeAttributesClass = {
  ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttributesClass", metadata: { name: "gold" } },
  ...{ driverName: DRIVER, parameters: { tier: "gold" } },
};
const attributed = claim("data", { volumeAttributesClassName: "gold" });
const SECRETS = { [`${P}secret-name`]: "${pvc.name}-key", [`${P}secret-namespace`]: "${pvc.namespace}" };
const ROLES = ["controllerPublish", "nodeStage", "nodePublish", "controllerExpand", "nodeExpand"];
const everywhere = (ref: object) => Object.fromEntries(ROLES.map((role) => [`${role}SecretRef`, ref]));
const ownSecrets = Object.fromEntries(
  [
    "provisioner",
    "controller-publish",
    "node-stage",
    "node-publish",
    "controller-expand",
    "node-expand",
  ].flatMap((role) => [
    [`${P}${role}-secret-name`, role],
    [`${P}${role}-secret-namespace`, "infra"],
  ]),
);
const placed = driverInfo(["CREATE_DELETE_VOLUME"], { topology: true });
const selecting = (name: string): PersistentVolumeClaim =>
  claim("data", {}, { annotations: { [SELECTED_NODE]: name } });

/** `made`: what an intent has, at the least. */
type Row = readonly [title: string, changes: Partial<PlanInput>, made: object | RegExp];

const ROWS: readonly Row[] = [
  [
    "a plain one",
    {},
    { arguments: { name: "pvc-uid-data", parameters: {} }, volume: { reclaimPolicy: "Delete" } },
  ],
  [
    "with its names for the driver",
    { ...of({ tier: "gold" }), ...withOptions({ extraCreateMetadata: true }) },
    {
      arguments: {
        parameters: {
          ...{ tier: "gold", [`${P}pvc/name`]: "data", [`${P}pvc/namespace`]: "default" },
          [`${P}pv/name`]: "pvc-uid-data",
        },
      },
    },
  ],
  [
    "no file system",
    {},
    { arguments: { volumeCapabilities: [capability("SINGLE_NODE_WRITER")] }, volume: { fsType: undefined } },
  ],
  [
    "the default file system",
    withOptions({ defaultFsType: "ext4" }),
    {
      arguments: { volumeCapabilities: [capability("SINGLE_NODE_WRITER", "ext4")] },
      volume: { fsType: "ext4" },
    },
  ],
  [
    "the class's file system, with a default",
    { ...of({ fstype: "xfs" }), ...withOptions({ defaultFsType: "ext4" }) },
    { volume: { fsType: "xfs" } },
  ],
  ["the class's file system, without a default", of({ fstype: "xfs" }), { volume: { fsType: "xfs" } }],
  [
    "the file system of the reserved key",
    of({ [`${P}fstype`]: "ext3" }),
    {
      arguments: { parameters: {}, volumeCapabilities: [capability("SINGLE_NODE_WRITER", "ext3")] },
      volume: { fsType: "ext3" },
    },
  ],
  ["two file systems", of({ [`${P}fstype`]: "ext3", fstype: "xfs" }), /more than once/],
  [
    "many writers",
    modes("ReadWriteMany"),
    { arguments: { volumeCapabilities: [capability("MULTI_NODE_MULTI_WRITER")] } },
  ],
  [
    "many readers",
    modes("ReadOnlyMany"),
    {
      arguments: { volumeCapabilities: [capability("MULTI_NODE_READER_ONLY")] },
      volume: { readOnly: undefined },
    },
  ],
  [
    "many readers, read-only on request",
    { ...modes("ReadOnlyMany"), ...withOptions({ controllerPublishReadonly: true }) },
    { volume: { readOnly: true } },
  ],
  [
    "one node",
    modes("ReadWriteOnce"),
    { arguments: { volumeCapabilities: [capability("SINGLE_NODE_WRITER")] } },
  ],
  [
    "one node, of a driver that knows pods",
    { ...modes("ReadWriteOnce"), driver: FINE },
    { arguments: { volumeCapabilities: [capability("SINGLE_NODE_MULTI_WRITER")] } },
  ],
  [
    "one pod, of a driver that knows pods",
    { ...modes("ReadWriteOncePod"), driver: FINE },
    { arguments: { volumeCapabilities: [capability("SINGLE_NODE_SINGLE_WRITER")] } },
  ],
  [
    "several modes",
    modes("ReadOnlyMany", "ReadWriteOnce"),
    {
      arguments: {
        volumeCapabilities: [capability("MULTI_NODE_READER_ONLY"), capability("SINGLE_NODE_WRITER")],
      },
    },
  ],
  [
    "secrets of each role",
    of(ownSecrets),
    {
      secret: { name: "provisioner", namespace: "infra" },
      volume: {
        secretRefs: {
          controllerPublishSecretRef: { name: "controller-publish", namespace: "infra" },
          nodeStageSecretRef: { name: "node-stage", namespace: "infra" },
          nodePublishSecretRef: { name: "node-publish", namespace: "infra" },
          controllerExpandSecretRef: { name: "controller-expand", namespace: "infra" },
          nodeExpandSecretRef: { name: "node-expand", namespace: "infra" },
        },
      },
    },
  ],
  [
    "one secret for all roles",
    of({ [`${P}secret-name`]: "key", [`${P}secret-namespace`]: "infra" }),
    {
      secret: { name: "key", namespace: "infra" },
      volume: { secretRefs: everywhere({ name: "key", namespace: "infra" }) },
    },
  ],
  [
    "one secret for all roles, from a template",
    of(SECRETS),
    {
      secret: { name: "data-key", namespace: "default" },
      volume: { secretRefs: everywhere({ name: "data-key", namespace: "default" }) },
    },
  ],
  ["a secret whose name is not complete", of({ [`${P}provisioner-secret-name`]: "key" }), /must both be set/],
  ["a template that is none", of({ ...SECRETS, [`${P}secret-name`]: "${bogus}" }), /invalid tokens/],
  [
    "a file system by name",
    { claim: claim("data", { volumeMode: "Filesystem" }) },
    {
      arguments: { volumeCapabilities: [capability("SINGLE_NODE_WRITER")] },
      volume: { volumeMode: "Filesystem" },
    },
  ],
  [
    "a block device",
    { claim: claim("data", { volumeMode: "Block" }), ...withOptions({ defaultFsType: "ext4" }) },
    {
      arguments: { volumeCapabilities: [{ mode: "SINGLE_NODE_WRITER" }] },
      volume: { volumeMode: "Block", fsType: undefined },
    },
  ],
  [
    "a selector",
    { claim: claim("data", { selector: { matchLabels: { a: "b" } } }) },
    /Selector is not supported/,
  ],
  [
    "mount options",
    of({}, { mountOptions: ["foo=bar", "baz"] }),
    {
      arguments: { volumeCapabilities: [capability("SINGLE_NODE_WRITER", "", ["foo=bar", "baz"])] },
      volume: { mountOptions: ["foo=bar", "baz"] },
    },
  ],
  [
    "a class of attributes",
    { claim: attributed, attributesClass: gold },
    { arguments: { mutableParameters: { tier: "gold" } }, volume: { volumeAttributesClassName: "gold" } },
  ],
  [
    "a class of attributes that the driver cannot",
    { claim: attributed, attributesClass: gold, driver: FINE },
    /MODIFY_VOLUME/,
  ],
  ["a class of attributes that is not there", { claim: attributed }, /gold does not exist/],
  [
    "a class of attributes of another driver",
    { claim: attributed, attributesClass: { ...gold, driverName: "x" } },
    /is for driver x/,
  ],
  [
    "a source of somebody else's kind",
    { claim: claim("data", { dataSource: { apiGroup: "x", kind: "Any", name: "a" } }) },
    /^foreign$/,
  ],
  ["a node that is not there", { claim: selecting("gone"), driver: placed }, /^reschedule$/],
  [
    "a node whose labels are not complete",
    {
      claim: selecting("n1"),
      driver: placed,
      nodes: [node("n1", { zone: "a" })],
      csiNodes: [csiNode("n1", ["zone", "rack"])],
    },
    /lacks labels for the topology keys/,
  ],
  [
    "a node whose labels are complete now",
    {
      claim: selecting("n1"),
      driver: placed,
      nodes: [node("n1", { zone: "a", rack: "1" })],
      csiNodes: [csiNode("n1", ["zone", "rack"])],
    },
    {
      selectedNode: "n1",
      arguments: { accessibilityRequirements: { preferred: [{ rack: "1", zone: "a" }] } },
    },
  ],
  [
    "a driver that knows no places",
    { claim: selecting("n1"), nodes: [node("n1", { zone: "a" })], csiNodes: [csiNode("n1", ["zone"])] },
    { arguments: { accessibilityRequirements: undefined } },
  ],
];

/** Of what was found, the fields that are expected. */
function only(found: unknown, expected: unknown): unknown {
  if (Array.isArray(expected) || typeof expected !== "object" || expected === null) return found;
  const of = (found ?? {}) as Record<string, unknown>;
  return Object.fromEntries(Object.entries(expected).map(([key, value]) => [key, only(of[key], value)]));
}
for (const [title, changes, made] of ROWS)
  test(`a claim is planned: ${title}`, () => {
    const found = plan({ ...base, ...changes });
    if (made instanceof RegExp) return assert.match(found.kind === "error" ? found.error : found.kind, made);
    assert.ok(found.kind === "intent", JSON.stringify(found));
    return assert.deepEqual(only(found.intent, made), made);
  });
