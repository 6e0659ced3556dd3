import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "@mooring/sidecars";
import { Namespaces, type Resource, type UnstructuredObject } from "@mooring/store";
import { bundledCrds, installCrds } from "./install.ts";
import { startTestCluster } from "./testing/cluster.ts";

async function start(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "mooring-crd-"));
  const { store, stop } = await startTestCluster(path);
  t.after(async () => {
    await stop();
    await rm(path, { recursive: true, force: true });
  });
  await installCrds(
    store,
    (await bundledCrds()).filter((file) => /_volumegroup(s|classes|contents)\.yaml$/.test(file)),
  );
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  const create = (resource: Resource, name: string, fields: object, dryRun = true) => {
    const { kind, namespaced } = resource;
    const metadata = namespaced ? { name, namespace: "a" } : { name };
    const object = { apiVersion: "storage.mooring.dev/v1alpha1", kind, metadata, ...fields };
    return store.create(resource, object as UnstructuredObject, { dryRun });
  };
  const patch = (resource: Resource, name: string, body: object) =>
    store.patch(resource, resource.namespaced ? { name, namespace: "a" } : { name }, { type: "merge", body });
  return { create, patch };
}

const volumeGroupRef = { name: "db", namespace: "a" };
const content = { driver: "d", deletionPolicy: "Retain", volumeGroupRef };
const GROUP = VolumeGroups as Resource;
const CONTENT = VolumeGroupContents as Resource;
const CLASS = VolumeGroupClasses as Resource;
const selector = { matchLabels: { app: "db" } };

const taken: [resource: Resource, fields: object][] = [
  [GROUP, { spec: { source: {} } }],
  [GROUP, { spec: { volumeGroupClassName: "c", source: { selector, claimNames: ["data"] } } }],
  [GROUP, { spec: { source: { volumeGroupContentName: "old", selector: {} } } }],
  [CONTENT, { spec: content }],
  [CONTENT, { spec: { ...content, source: { volumeGroupHandle: "vg-1" }, driftPolicy: "Repair" } }],
  [CLASS, { driver: "d", deletionPolicy: "Retain" }],
  [CLASS, { driver: "d", deletionPolicy: "Delete", deleteMembers: "true", maxMembers: 200 }],
];

const { deletionPolicy: _policy, ...withoutPolicy } = content;
const expression = (fields: object) => ({
  source: { selector: { matchExpressions: [{ key: "k", ...fields }] } },
});
const refused: [what: string, resource: Resource, fields: object, why: RegExp][] = [
  ["a group without a source", GROUP, { spec: {} }, /spec\.source: Required/],
  [
    "a class and a content",
    GROUP,
    { spec: { volumeGroupClassName: "c", source: { volumeGroupContentName: "old" } } },
    /has no class/,
  ],
  ["In without values", GROUP, { spec: expression({ operator: "In" }) }, /In and NotIn need values/],
  ["Exists with values", GROUP, { spec: expression({ operator: "Exists", values: ["x"] }) }, /have none/],
  ["another operator", GROUP, { spec: expression({ operator: "Like", values: ["x"] }) }, /operator/],
  ["a name twice", GROUP, { spec: { source: { claimNames: ["data", "data"] } } }, /Duplicate/],
  ["a content without a policy", CONTENT, { spec: withoutPolicy }, /deletionPolicy: Required/],
  ["another policy", CONTENT, { spec: { ...content, deletionPolicy: "Keep" } }, /deletionPolicy/],
  [
    "a content for nobody",
    CONTENT,
    { spec: { driver: "d", deletionPolicy: "Retain" } },
    /volumeGroupRef: Required/,
  ],
  [
    "a group of no name",
    CONTENT,
    { spec: { ...content, source: { volumeGroupHandle: "" } } },
    /volumeGroupHandle/,
  ],
  [
    "a retained group without its members",
    CONTENT,
    { spec: { ...content, deleteMembers: "true" } },
    /needs deletionPolicy Delete/,
  ],
  ["a class without a policy", CLASS, { driver: "d" }, /deletionPolicy: Required/],
  [
    "a class that retains nothing",
    CLASS,
    { driver: "d", deletionPolicy: "Retain", deleteMembers: "true" },
    /needs deletionPolicy Delete/,
  ],
  ["not text at all", CLASS, { driver: "d", deletionPolicy: "Delete", deleteMembers: true }, /deleteMembers/],
  ["too many members", CLASS, { driver: "d", deletionPolicy: "Delete", maxMembers: 201 }, /maxMembers/],
];

test("groups, contents and classes that can be are taken; a content without a policy, and all else that cannot be, are refused with what is wrong", async (t) => {
  const { create } = await start(t);
  for (const [resource, fields] of taken) await create(resource, "x", fields);
  for (const [what, resource, fields, why] of refused)
    await assert.rejects(create(resource, "x", fields), why, what);
});

test("what a group was made of does not change; who is in it does", async (t) => {
  const { create, patch } = await start(t);
  await create(GROUP, "made", { spec: { volumeGroupClassName: "c", source: { selector } } }, false);
  await create(GROUP, "brought", { spec: { source: { volumeGroupContentName: "old" } } }, false);
  await create(CONTENT, "x", { spec: { ...content, parameters: { tier: "gold" } } }, false);
  await create(CLASS, "c", { driver: "d", deletionPolicy: "Delete", parameters: { tier: "gold" } }, false);
  await patch(GROUP, "made", {
    spec: { source: { selector: { matchLabels: { app: "new" } }, claimNames: ["b"] } },
  });
  await patch(CONTENT, "x", { spec: { volumeGroupRef: { uid: "u1" }, deletionPolicy: "Delete" } });
  const fixed: [Resource, string, object, RegExp][] = [
    [GROUP, "made", { spec: { volumeGroupClassName: "other" } }, /immutable/],
    [GROUP, "made", { spec: { volumeGroupClassName: null } }, /cannot be added or taken away/],
    [GROUP, "made", { spec: { source: { volumeGroupContentName: "old" } } }, /cannot be added|has no class/],
    [GROUP, "brought", { spec: { source: { volumeGroupContentName: "other" } } }, /immutable/],
    [CONTENT, "x", { spec: { source: { volumeGroupHandle: "vg-theirs" } } }, /cannot be added or taken away/],
    [CONTENT, "x", { spec: { driver: "other" } }, /immutable/],
    [CONTENT, "x", { spec: { volumeGroupRef: { uid: "u2" } } }, /immutable once it is set/],
    [CONTENT, "x", { spec: { volumeGroupRef: { name: "other" } } }, /immutable/],
    [CONTENT, "x", { spec: { parameters: { tier: "iron" } } }, /immutable/],
    [CLASS, "c", { driver: "other" }, /immutable/],
    [CLASS, "c", { parameters: { tier: "iron" } }, /immutable/],
  ];
  for (const [resource, name, body, why] of fixed)
    await assert.rejects(patch(resource, name, body), why, JSON.stringify(body));
});
