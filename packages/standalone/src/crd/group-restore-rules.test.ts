import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { type VolumeGroupRestore, VolumeGroupRestores } from "@mooring/sidecars";
import { Namespaces } from "@mooring/store";
import { bundledCrds, installCrds } from "./install.ts";
import { startTestCluster } from "./testing/cluster.ts";

type Spec = VolumeGroupRestore["spec"];
const source = { volumeGroupSnapshotName: "g" };

async function start(t: TestContext) {
  const path = await mkdtemp(join(tmpdir(), "mooring-crd-"));
  const { store, stop } = await startTestCluster(path);
  t.after(async () => {
    await stop();
    await rm(path, { recursive: true, force: true });
  });
  await installCrds(
    store,
    (await bundledCrds()).filter((file) => file.includes("volumegrouprestores")),
  );
  await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "a" } });
  return {
    store,
    create: (spec: Spec, name = "r", dryRun = true) =>
      store.create(
        VolumeGroupRestores,
        {
          apiVersion: "storage.mooring.dev/v1alpha1",
          kind: "VolumeGroupRestore",
          metadata: { name, namespace: "a" },
          spec,
        },
        { dryRun },
      ),
  };
}

test("a restore with names, sizes and modes that can be is taken; one that cannot be is refused with what is wrong", async (t) => {
  const { create } = await start(t);
  const good: Spec[] = [
    { source },
    { source, claimNameTemplate: "{{claim}}-restored" },
    { source, claimNameTemplate: "{{groupSnapshot}}.{{restore}}-{{claim}}" },
    {
      source,
      defaults: { size: "1.5Gi", accessModes: ["ReadWriteOnce"], storageClassName: "c", labels: { a: "b" } },
    },
    { source, members: [{ claim: "data", name: "data-2" }, { claim: "wal" }] },
  ];
  for (const spec of good) await create(spec);
  const bad: [Spec, RegExp][] = [
    [{ source: { volumeGroupSnapshotName: "" } }, /volumeGroupSnapshotName/],
    [{ source, claimNameTemplate: "again" }, /must contain \{\{claim\}\}/],
    [{ source, claimNameTemplate: "{{claim}}-{{pod}}" }, /claimNameTemplate may have/],
    [{ source, claimNameTemplate: "-{{claim}}" }, /claimNameTemplate may have/],
    [{ source, claimNameTemplate: "{{claim}}_X" }, /claimNameTemplate may have/],
    [{ source, defaults: { size: "much" } }, /positive quantity/],
    [{ source, defaults: { size: "0" } }, /positive quantity/],
    [{ source, defaults: { accessModes: ["Often"] } }, /accessModes/],
    [{ source, defaults: { storageClassName: "" } }, /storageClassName/],
    [{ source, members: [{ claim: "data" }, { claim: "data" }] }, /Duplicate/],
    [{ source, members: [{ claim: "data", name: "Data" }] }, /name/],
  ];
  for (const [spec, message] of bad) await assert.rejects(create(spec), message, JSON.stringify(spec));
  await assert.rejects(create({ source }, "r".repeat(64)), /at most 63 characters/);
});

test("what is restored cannot be changed once it is asked for", async (t) => {
  const { create, store } = await start(t);
  await create({ source }, "r", false);
  const patch = (body: object) =>
    store.patch(VolumeGroupRestores, { namespace: "a", name: "r" }, { type: "merge", body });
  await assert.rejects(patch({ spec: { defaults: { size: "1Gi" } } }), /spec is immutable/);
  await assert.rejects(patch({ spec: { source: { volumeGroupSnapshotName: "h" } } }), /spec is immutable/);
  const { metadata } = await patch({ metadata: { labels: { a: "b" } } });
  assert.deepEqual(metadata.labels, { a: "b" });
});
