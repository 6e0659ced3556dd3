// biome-ignore-all lint/suspicious/noTemplateCurlyInString: class parameters look like that
import assert from "node:assert/strict";
import { test } from "node:test";
import { driverParameters, fsTypeOf } from "./parameters.ts";

/** What external-provisioner tests of parameters (TestStripPrefixedCSIParams), and of the file system in them. */
const P = "csi.storage.k8s.io/";
const ROLES = ["provisioner", "controller-publish", "node-stage", "node-publish"];
const MORE = ["controller-expand", "node-expand", "controller-modify"];
const keys = [...ROLES, ...MORE, ""].flatMap((role) => {
  const prefix = `${P}${role}${role === "" ? "" : "-"}secret-`;
  return [`${prefix}name`, `${prefix}namespace`];
});
const known = Object.fromEntries([`${P}fstype`, ...keys].map((key) => [key, "x"]));
const LEGACY = ["Provisioner", "ControllerPublish", "NodeStage", "NodePublish"];
const legacy = Object.fromEntries(
  LEGACY.flatMap((role) => [
    [`csi${role}SecretName`, "x"],
    [`csi${role}SecretNamespace`, "y"],
  ]),
);

const ROWS: readonly (readonly [title: string, given: Record<string, string>, kept: object | RegExp])[] = [
  ["none has the prefix", { csiFoo: "bar", bim: "baz" }, { csiFoo: "bar", bim: "baz" }],
  ["one has it", { bim: "baz", [`${P}fstype`]: "xfs" }, { bim: "baz" }],
  ["a value has it", { foo: `${P}bar` }, { foo: `${P}bar` }],
  ["all that are known have it", known, {}],
  ["those of old stay", legacy, legacy],
  ["one that is not known", { [`${P}unknown`]: "x" }, /unknown parameter key "csi.storage.k8s.io\/unknown"/],
  ["nothing is given", {}, {}],
];
for (const [title, given, kept] of ROWS)
  test(`parameters for the driver: ${title}`, () => {
    const found = driverParameters(given);
    if (kept instanceof RegExp) return assert.match("error" in found ? found.error : "", kept);
    return assert.deepEqual(found, { parameters: kept });
  });

const FILE_SYSTEMS: readonly (readonly [
  title: string,
  given: Record<string, string>,
  fsType: string | RegExp | undefined,
])[] = [
  ["none", { tier: "gold" }, undefined],
  ["the reserved key", { [`${P}fstype`]: "xfs" }, "xfs"],
  ["the key of old", { fstype: "ext3" }, "ext3"],
  ["the key of old in other letters", { FsType: "ext3" }, "ext3"],
  ["two keys", { [`${P}fstype`]: "xfs", fstype: "ext3" }, /more than once/],
  ["two keys in other letters", { fstype: "xfs", FSTYPE: "ext3" }, /more than once/],
];
for (const [title, given, fsType] of FILE_SYSTEMS)
  test(`a class's file system: ${title}`, () => {
    const found = fsTypeOf(given);
    if (fsType instanceof RegExp) return assert.match("error" in found ? found.error : "", fsType);
    return assert.deepEqual(found, { fsType });
  });
