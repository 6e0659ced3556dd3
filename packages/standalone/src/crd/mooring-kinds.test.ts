import assert from "node:assert/strict";
import { readFile } from "node:fs/promises";
import { test } from "node:test";
import { ownerKinds } from "@mooring/engine";
import type { UnstructuredObject } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { parse } from "yaml";
import { builtinKinds } from "../builtin/index.ts";
import { customKind } from "./custom-kind.ts";
import { bundledCrds } from "./install.ts";
import { MOORING_SAMPLES } from "./testing/mooring-samples.ts";
import { SNAPSHOT_SAMPLES, volumeSnapshot } from "./testing/snapshot-samples.ts";
import type { CustomResourceDefinition } from "./types.ts";

const samples = [...MOORING_SAMPLES, ...SNAPSHOT_SAMPLES];

async function definitions(): Promise<CustomResourceDefinition[]> {
  return Promise.all(
    (await bundledCrds()).map(
      async (file) => parse(await readFile(file, "utf8")) as CustomResourceDefinition,
    ),
  );
}

test("the definitions know every field of the types, and lose none of them", async () => {
  const all = await definitions();
  for (const sample of samples) {
    const [group] = sample.apiVersion.split("/");
    const crd = all.find(({ spec }) => spec.names.kind === sample.kind && spec.group === group);
    assert.ok(crd, sample.kind);
    const strategy = customKind(crd).definition.strategy;
    const stored = strategy?.create?.(structuredClone(sample) as unknown as UnstructuredObject, {
      dryRun: false,
    });
    assert.deepEqual(stored, sample);
  }
  assert.equal(samples.length, all.length);
});

test("every definition describes all its fields and ends its columns with the age", async () => {
  const visit = (node: Record<string, unknown>, path: string): void => {
    for (const [field, child] of Object.entries(
      (node.properties ?? {}) as Record<string, Record<string, unknown>>,
    )) {
      assert.ok(child.description, `${path}.${field}`);
      visit(child, `${path}.${field}`);
      if (child.items !== undefined) visit(child.items as Record<string, unknown>, `${path}.${field}[]`);
    }
  };
  for (const crd of await definitions()) {
    for (const version of crd.spec.versions) {
      visit(version.schema?.openAPIV3Schema as Record<string, unknown>, crd.spec.names.kind);
      assert.equal(version.additionalPrinterColumns?.at(-1)?.name, "Age");
    }
  }
});

test("a ticket dies with an object of just those kinds that the arbiter watches", async () => {
  const crd = (await definitions()).find(({ metadata }) => metadata.name.startsWith("volumeattachments."));
  const schema = JSON.stringify(crd?.spec.versions[0]?.schema);
  const [, list = ""] = /self\.owner\.kind\) in \[([^\]]*)\]/.exec(schema) ?? [];
  const allowed = [...list.matchAll(/'([^']+)'/g)].map(([, kind]) => kind);
  assert.deepEqual(allowed.sort(), Object.keys(ownerKinds(true)).sort());
});

test("our VolumeAttachment and the Kubernetes one are two kinds in two groups", async () => {
  covers("K8S-142");
  const own = (await definitions()).find(({ spec }) => spec.names.kind === "VolumeAttachment");
  const theirs = builtinKinds.find(({ resource }) => resource.kind === "VolumeAttachment");
  assert.deepEqual([own?.spec.group, theirs?.resource.group], ["storage.mooring.dev", "storage.k8s.io"]);
});

test("a snapshot cannot ask for a group: membership is in its status alone", async () => {
  covers("KEP-069");
  const crd = (await definitions()).find(({ spec }) => spec.names.kind === "VolumeSnapshot");
  assert.ok(crd);
  const asking = structuredClone(volumeSnapshot) as unknown as UnstructuredObject;
  Object.assign(asking.spec as object, { volumeGroupSnapshotName: "g", groupSnapshotName: "g" });
  const { definition, info } = customKind(crd);
  assert.deepEqual(info.unknownFields?.(asking, "v1"), [
    "spec.volumeGroupSnapshotName",
    "spec.groupSnapshotName",
  ]);
  const stored = definition.strategy?.create?.(asking, { dryRun: false });
  assert.deepEqual(stored?.spec, volumeSnapshot.spec);
});
