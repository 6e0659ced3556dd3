import assert from "node:assert/strict";
import { test } from "node:test";
import type { UnstructuredObject } from "@mooring/store";
import { customResourceDefinitions } from "../crd/definition-kind.ts";
import type { BuiltinKind } from "../kinds/builtin-kind.ts";
import { createStrategy } from "../schema/create-strategy.ts";
import { builtinKinds } from "./register.ts";

const head = { metadata: { name: "x", uid: "u", creationTimestamp: "2026-01-01T00:00:00Z" } };
const claim = { accessModes: ["ReadWriteOnce"], resources: { requests: { storage: "1Gi" } } };
const template = {
  metadata: { labels: { app: "a" } },
  spec: { containers: [{ name: "c", image: "host" }] },
};
const workload = { selector: { matchLabels: { app: "a" } }, template };
const job = { template: { ...template, spec: { ...template.spec, restartPolicy: "Never" } } };
const roleRef = { kind: "ClusterRole", name: "r" };

/** The least that each kind takes. */
const LEAST: Readonly<Record<string, Record<string, unknown>>> = {
  Namespace: {},
  Node: {},
  Pod: { spec: { containers: [{ name: "c", image: "host" }] } },
  PersistentVolumeClaim: { spec: claim },
  PersistentVolume: {
    spec: { ...claim, resources: undefined, capacity: { storage: "1Gi" }, hostPath: { path: "/x" } },
  },
  ConfigMap: {},
  Secret: { stringData: { a: "b" } },
  ServiceAccount: {},
  Service: { spec: { ports: [{ port: 80 }] } },
  Event: { involvedObject: { kind: "Pod", name: "p" }, regarding: { kind: "Pod", name: "p" } },
  Lease: {},
  StorageClass: { provisioner: "p" },
  VolumeAttachment: { spec: { attacher: "d", nodeName: "n", source: { persistentVolumeName: "v" } } },
  CSIDriver: {},
  CSINode: { spec: { drivers: [] } },
  CSIStorageCapacity: { storageClassName: "c" },
  VolumeAttributesClass: { driverName: "d", parameters: { a: "b" } },
  Deployment: { spec: workload },
  ReplicaSet: { spec: workload },
  StatefulSet: { spec: { ...workload, serviceName: "s" } },
  ControllerRevision: { revision: 1, data: { spec: {} } },
  Job: { spec: job },
  CronJob: { spec: { schedule: "@daily", jobTemplate: { spec: job } } },
  ResourceQuota: { spec: { hard: { "requests.storage": "1Gi" } } },
  Role: {},
  ClusterRole: {},
  RoleBinding: { roleRef },
  ClusterRoleBinding: { roleRef },
  CustomResourceDefinition: {
    metadata: { ...head.metadata, name: "ws.example.com" },
    spec: {
      group: "example.com",
      scope: "Cluster",
      names: { plural: "ws", kind: "W" },
      versions: [
        { name: "v1", served: true, storage: true, schema: { openAPIV3Schema: { type: "object" } } },
      ],
    },
  },
};

function least(kind: BuiltinKind): UnstructuredObject {
  const { group, version, kind: name, namespaced } = kind.resource;
  const object = {
    apiVersion: group === "" ? version : `${group}/${version}`,
    kind: name,
    ...head,
    ...LEAST[name],
  };
  const copy = JSON.parse(JSON.stringify(object)) as UnstructuredObject;
  if (namespaced) copy.metadata.namespace = "default";
  return copy;
}

for (const kind of builtinKinds) {
  const { group, version, kind: name } = kind.resource;
  test(`${name}${group === "" ? "" : `.${group}`}: the least object is taken, shown, and the same after an update with itself`, () => {
    assert.ok(LEAST[name], `no sample of ${name}`);
    const strategy = createStrategy({
      group,
      version,
      kind: name,
      schema: kind.schema,
      custom: false,
      hasStatus: kind.hasStatus === true,
      ...(kind.rules && { rules: kind.rules }),
    });
    const created = strategy.create?.(least(kind), { dryRun: false });
    assert.ok(created);
    const updated = strategy.update?.(structuredClone(created), structuredClone(created), { dryRun: false });
    assert.deepEqual(updated, created);
    for (const column of kind.columns) {
      const cell = "value" in column ? column.value(created, new Date("2026-01-01T00:01:00Z")) : "";
      assert.ok(["string", "number", "boolean"].includes(typeof cell), column.name);
    }
    for (const value of Object.values(strategy.selectableFields?.(created) ?? {}))
      assert.equal(typeof value, "string");
  });
}

test("kinds, plurals and short names are unambiguous within a group", () => {
  const seen = new Set<string>();
  for (const { resource, singular, shortNames = [] } of builtinKinds) {
    for (const name of [
      resource.plural,
      ...(singular === resource.plural ? [] : [singular]),
      ...shortNames,
    ]) {
      const full = `${name}.${resource.group}`;
      assert.ok(!seen.has(full), full);
      seen.add(full);
    }
  }
  assert.ok(builtinKinds.includes(customResourceDefinitions));
});
