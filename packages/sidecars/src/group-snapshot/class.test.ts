import assert from "node:assert/strict";
import { test } from "node:test";
import type { v1 } from "@mooring/csi";
import {
  type KubeObject,
  type Resource,
  Secrets,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { fresh, groupWorld, NS } from "../testing/group-world.ts";
import { groupClass, groupSnapshot } from "../testing/objects.ts";

test("secrets of the class go to every call, its other parameters to the first, and names only on request", async (t) => {
  covers("KEP-044", "KEP-053", "KEP-078", "KEP-089", "KEP-113");
  const prefixed = (role: string) => `csi.storage.k8s.io/${role}`;
  const parameters = {
    kind: "thin",
    [prefixed("group-snapshotter-secret-name")]: "key",
    // biome-ignore lint/suspicious/noTemplateCurlyInString: the template of a class
    [prefixed("group-snapshotter-secret-namespace")]: "${volumegroupsnapshot.namespace}",
  };
  const data = { k: b64("v"), l: b64("w") };
  const secret = { apiVersion: "v1", kind: "Secret", metadata: { name: "key", namespace: NS }, data };
  const objects: [Resource, KubeObject][] = [
    [VolumeGroupSnapshotClasses, groupClass({ parameters })],
    [Secrets, secret],
  ];
  const groupSnapshotOptions = { extraCreateMetadata: true };
  const w = await groupWorld(t, {
    objects,
    driver: { snapshotPolls: 1 },
    sidecars: { groupSnapshot: groupSnapshotOptions },
  });
  await w.claims("data");
  await w.create("group");
  await w.ready();
  const name = (await w.content()).metadata.name;
  await w.remove();
  await w.gone();
  const calls = w.h.driver.calls.filter(({ method }) => method.endsWith("GroupSnapshot"));
  assert.deepEqual(
    calls.map(({ method }) => method),
    ["CreateVolumeGroupSnapshot", "GetVolumeGroupSnapshot", "DeleteVolumeGroupSnapshot"],
  );
  for (const { request } of calls)
    assert.deepEqual((request as { secrets: object }).secrets, { k: "v", l: "w" });
  const [snapshot] = w.requests<v1.CreateVolumeGroupSnapshotRequest>("CreateVolumeGroupSnapshot");
  assert.deepEqual(snapshot?.parameters, {
    kind: "thin",
    [prefixed("volumegroupsnapshot/name")]: "group",
    [prefixed("volumegroupsnapshot/namespace")]: NS,
    [prefixed("volumegroupsnapshotcontent/name")]: name,
  });
});

test("GetVolumeGroupSnapshot can have a secret of its own", async (t) => {
  const prefixed = (role: string) => `csi.storage.k8s.io/group-snapshotter-${role}`;
  const parameters = {
    [prefixed("secret-name")]: "create",
    [prefixed("secret-namespace")]: NS,
    [prefixed("get-secret-name")]: "get",
    [prefixed("get-secret-namespace")]: NS,
  };
  const secret = (name: string): [Resource, KubeObject] => {
    const object = { apiVersion: "v1", kind: "Secret", metadata: { name, namespace: NS } };
    return [Secrets, { ...object, data: { is: b64(name) } } as KubeObject];
  };
  const objects: [Resource, KubeObject][] = [
    [VolumeGroupSnapshotClasses, groupClass({ parameters })],
    secret("create"),
    secret("get"),
  ];
  const w = await groupWorld(t, { objects, driver: { snapshotPolls: 1 } });
  await w.claims("data");
  await w.create("group");
  await w.ready();
  const given = w.h.driver.calls
    .filter(({ method }) => method.endsWith("GroupSnapshot"))
    .map(({ request }) => (request as { secrets: object }).secrets);
  assert.deepEqual(given, [{ is: "create" }, { is: "get" }]);
});

test("without a class name the one default class of the volumes' driver is used", async (t) => {
  covers("KEP-048");
  const annotations = { "groupsnapshot.storage.kubernetes.io/is-default-class": "true" };
  const make = (name: string, changes: object = {}): [Resource, KubeObject] => [
    VolumeGroupSnapshotClasses,
    groupClass({ metadata: { name, annotations }, ...changes }),
  ];
  const objects = [
    make("foreign", { driver: "x.example.com" }),
    make("mine", { parameters: { kind: "thin" }, deletionPolicy: "Retain" }),
  ];
  const w = await groupWorld(t, { objects });
  await w.claims("data");
  await w.h.store.create(
    VolumeGroupSnapshots,
    fresh(groupSnapshot("group", { source: { selector: { matchLabels: { app: "db" } } } })),
  );
  await w.ready();
  const { spec } = await w.content();
  assert.deepEqual([spec.volumeGroupSnapshotClassName, spec.deletionPolicy], ["mine", "Retain"]);
  const [snapshot] = w.requests<v1.CreateVolumeGroupSnapshotRequest>("CreateVolumeGroupSnapshot");
  assert.deepEqual(snapshot?.parameters, { kind: "thin" });
});

function b64(text: string): string {
  return Buffer.from(text).toString("base64");
}
