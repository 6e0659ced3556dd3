import assert from "node:assert/strict";
import { test } from "node:test";
import { Code, type v1 } from "@mooring/csi";
import {
  ConfigMaps,
  Events,
  PersistentVolumeClaims,
  PersistentVolumes,
  retryOnConflict,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { thorough } from "@mooring/store/testing";
import { recordFor } from "../common/create-volume/record.ts";
import { ReferenceGrants, VolumePopulators } from "../kube/data-sources.ts";
import { type Harness, startHarness } from "../testing/harness.ts";
import { claim, DRIVER, driverInfo, snapshotClass, storageClass } from "../testing/objects.ts";
import { pvc, ready, vs } from "../testing/snapshot-world.ts";
import { PROVISION_DEFAULTS, plan } from "./plan.ts";

const HELLO = { apiGroup: "hello.example.com", kind: "Hello", name: "world" };
const never = 3_600_000;
const PATIENT = { retry: { startMs: never, maxMs: never, infeasibleMs: never } };

const inNamespace = (namespace: string, name: string, spec: object) => {
  const { metadata, ...rest } = pvc(name, spec);
  return { ...rest, metadata: { ...metadata, namespace } };
};
const claimOf = (h: Harness, name: string, namespace = "default") =>
  h.find(PersistentVolumeClaims, name, namespace);
const bound = (h: Harness, name: string, namespace = "default") =>
  h.until(
    `claim ${namespace}/${name} is bound`,
    async () => {
      const found = await claimOf(h, name, namespace);
      return found?.status?.phase === "Bound" && found;
    },
    async () => (await h.store.list(Events)).items.map(({ reason, message }) => `${reason}: ${message}`),
  );
const eventOf = (h: Harness, reason: string, message: RegExp) =>
  h.until(
    `event ${reason} ${message}`,
    async () =>
      (await h.store.list(Events)).items.find(
        (event) => event.reason === reason && message.test(event.message ?? ""),
      ),
    async () => (await h.store.list(Events)).items.map(({ reason: is, message: text }) => `${is}: ${text}`),
  );

/** What lib-volume-populator does with the volume that it has filled. */
async function rebind(h: Harness, volume: string, to: { name: string; uid?: string }): Promise<void> {
  const claimRef = { namespace: "default", name: to.name, uid: to.uid };
  const body = { spec: { claimRef }, metadata: { annotations: { "hello.example.com/populated-from": "x" } } };
  await retryOnConflict(() => h.store.patch(PersistentVolumes, { name: volume }, { type: "merge", body }));
}

test(
  "a claim for a populator gets the volume of the populator's claim, which goes with it",
  thorough(),
  async (t) => {
    const h = await startHarness(t);
    await h.store.create(PersistentVolumeClaims, pvc("data", { dataSourceRef: HELLO }));
    await eventOf(h, "Provisioning", /Assuming an external populator will provision the volume/);
    const waiting = (await claimOf(h, "data")) ?? assert.fail();
    await h.store.create(PersistentVolumeClaims, inNamespace("populator", "prime", {}));
    const prime = await bound(h, "prime", "populator");
    const volume = prime.spec?.volumeName ?? "";
    assert.equal(h.driver.called("CreateVolume"), 1);
    await rebind(h, volume, waiting.metadata);
    assert.equal((await bound(h, "data")).spec?.volumeName, volume);
    await h.store.delete(PersistentVolumeClaims, { namespace: "populator", name: "prime" });
    await h.restart();
    assert.equal(h.driver.backend.volumes.size, 1);
    assert.equal(h.driver.called("DeleteVolume"), 0);
    await h.store.delete(PersistentVolumeClaims, { namespace: "default", name: "data" });
    await h.until("the volume is gone", () => h.driver.backend.volumes.size === 0);
    assert.equal(h.driver.called("CreateVolume"), 1);
  },
);

test("a process that ends before it has settled a populated volume does not take it away from its claim", async (t) => {
  const h = await startHarness(t);
  const target = await h.store.create(PersistentVolumeClaims, pvc("data", { dataSourceRef: HELLO }));
  await h.store.create(PersistentVolumeClaims, pvc("prime"));
  const prime = await bound(h, "prime");
  const volume = prime.spec?.volumeName ?? "";
  await h.stop();
  await rebind(h, volume, target.metadata);
  await h.store.delete(PersistentVolumeClaims, { namespace: "default", name: "prime" });
  const { uid = "" } = prime.metadata;
  const planned = plan({
    claim: claim("prime", {}, { uid }),
    storageClass: storageClass(),
    driver: driverInfo(["CREATE_DELETE_VOLUME"]),
    options: PROVISION_DEFAULTS,
    ...{ source: {}, nodes: [], csiNodes: [], attributesClass: undefined },
  });
  const intent = planned.kind === "intent" ? planned.intent : assert.fail(JSON.stringify(planned));
  const place = { driver: DRIVER, suffix: "left", namespace: "kube-system" };
  await h.store.create(ConfigMaps, recordFor([intent], place));
  await h.restart();
  await h.until("the record is settled", async () => (await h.store.list(ConfigMaps)).items.length === 0);
  assert.equal((await bound(h, "data")).spec?.volumeName, volume);
  assert.equal(h.driver.backend.volumes.size, 1);
  assert.equal(h.driver.called("DeleteVolume"), 0);
});

test(
  "a kind that nobody fills volumes from is reported, until its populator registers",
  thorough(),
  async (t) => {
    const h = await startHarness(t, { sidecars: PATIENT });
    const other = { ...HELLO, kind: "Other" };
    await h.store.create(VolumePopulators, {
      apiVersion: "populator.storage.k8s.io/v1beta1",
      kind: "VolumePopulator",
      metadata: { name: "other" },
      sourceKind: { group: HELLO.apiGroup, kind: "Other" },
    });
    await h.store.create(PersistentVolumeClaims, pvc("known", { dataSourceRef: other }));
    await eventOf(h, "Provisioning", /Assuming an external populator/);
    await h.store.create(PersistentVolumeClaims, pvc("data", { dataSourceRef: HELLO }));
    const event = await eventOf(
      h,
      "UnrecognizedDataSourceKind",
      /^The datasource for this PVC does not match any registered VolumePopulator/,
    );
    assert.equal(event.type, "Warning");
    assert.equal(event.involvedObject?.name, "data");
    assert.match(event.message ?? "", /Hello\.hello\.example\.com/);
    const warnings = (await h.store.list(Events)).items.filter(({ type }) => type === "Warning");
    assert.equal(warnings.length, 1);
  },
);

test(
  "a cluster without the kinds of populators and grants has populators all the same, and no source elsewhere",
  thorough(),
  async (t) => {
    const h = await startHarness(t, { without: [VolumePopulators, ReferenceGrants] });
    await h.store.create(PersistentVolumeClaims, pvc("data", { dataSourceRef: HELLO }));
    await eventOf(h, "Provisioning", /Assuming an external populator/);
    const dataSourceRef = { kind: "PersistentVolumeClaim", name: "src", namespace: "owner" };
    await h.store.create(PersistentVolumeClaims, pvc("copy", { dataSourceRef }));
    await eventOf(h, "WaitForDataSource", /no ReferenceGrant in namespace owner/);
    const { items } = await h.store.list(Events);
    assert.deepEqual(
      items.filter(({ type }) => type === "Warning"),
      [],
    );
  },
);

const grant = (to: { group: string; kind: string; name?: string }) => ({
  apiVersion: "gateway.networking.k8s.io/v1beta1",
  kind: "ReferenceGrant",
  metadata: { name: "to-default", namespace: "owner" },
  spec: { from: [{ group: "", kind: "PersistentVolumeClaim", namespace: "default" }], to: [to] },
});

test("a clone of a claim in another namespace is made when a ReferenceGrant allows it, at once", async (t) => {
  const h = await startHarness(t, { sidecars: PATIENT });
  await h.store.create(PersistentVolumeClaims, inNamespace("owner", "src", {}));
  const source = await bound(h, "src", "owner");
  const dataSourceRef = { kind: "PersistentVolumeClaim", name: "src", namespace: "owner" };
  await h.store.create(PersistentVolumeClaims, pvc("copy", { dataSourceRef }));
  await eventOf(
    h,
    "WaitForDataSource",
    /accessing owner\/src of PersistentVolumeClaim dataSource from default\/copy/,
  );
  assert.equal(h.driver.called("CreateVolume"), 1);
  await h.store.create(ReferenceGrants, grant({ group: "", kind: "PersistentVolumeClaim", name: "src" }));
  await bound(h, "copy");
  const { request } =
    h.driver.calls.filter(({ method }) => method === "CreateVolume").at(-1) ?? assert.fail();
  const { volumeContentSource } = request as v1.CreateVolumeRequest;
  const volumeId = await handleOf(h, source.spec?.volumeName);
  assert.equal(volumeContentSource?.type.case, "volume");
  assert.equal((volumeContentSource.type.value as { volumeId: string }).volumeId, volumeId);
  await h.until(
    "the source is free again",
    async () => ((await claimOf(h, "src", "owner"))?.metadata.finalizers ?? []).length === 0,
  );
});

test(
  "the kind of grants may be installed last: claims that wait go on with their grant, though no attempt is due",
  thorough(),
  async (t) => {
    const sidecars = { ...PATIENT, kindsMs: 20 };
    const h = await startHarness(t, { without: [ReferenceGrants], sidecars });
    await h.store.create(PersistentVolumeClaims, inNamespace("owner", "src", {}));
    await bound(h, "src", "owner");
    const dataSourceRef = { kind: "PersistentVolumeClaim", name: "src", namespace: "owner" };
    await h.store.create(PersistentVolumeClaims, pvc("copy", { dataSourceRef }));
    await eventOf(h, "WaitForDataSource", /no ReferenceGrant in namespace owner/);
    h.install(ReferenceGrants);
    await h.store.create(ReferenceGrants, grant({ group: "", kind: "PersistentVolumeClaim", name: "src" }));
    await bound(h, "copy");
  },
);

test(
  "a snapshot in another namespace is restored with a grant, and kept as long as that takes",
  thorough(),
  async (t) => {
    const h = await startHarness(t, { objects: [[VolumeSnapshotClasses, snapshotClass()]] });
    await h.store.create(PersistentVolumeClaims, pvc("src"));
    await bound(h, "src");
    await h.store.create(VolumeSnapshots, vs("snap"));
    await ready(h);
    const toSnapshots = grant({ group: "snapshot.storage.k8s.io", kind: "VolumeSnapshot" });
    await h.store.create(ReferenceGrants, {
      ...toSnapshots,
      metadata: { name: "out", namespace: "default" },
      spec: { ...toSnapshots.spec, from: [{ group: "", kind: "PersistentVolumeClaim", namespace: "user" }] },
    });
    const dataSourceRef = {
      ...{ apiGroup: "snapshot.storage.k8s.io", kind: "VolumeSnapshot" },
      ...{ name: "snap", namespace: "default" },
    };
    const open = { code: Code.UNAVAILABLE, effect: true, times: 6 };
    h.driver.faults.add({ method: "CreateVolume", ...open });
    await h.store.create(PersistentVolumeClaims, inNamespace("user", "restored", { dataSourceRef }));
    await h.until("CreateVolume is under way", () => h.driver.called("CreateVolume") > 1);
    await h.store.delete(VolumeSnapshots, { namespace: "default", name: "snap" });
    await h.store.delete(ReferenceGrants, { namespace: "default", name: "out" });
    await bound(h, "restored", "user");
    await h.until(
      "the snapshot is gone",
      async () => (await h.store.list(VolumeSnapshots)).items.length === 0,
    );
  },
);

async function handleOf(h: Harness, volume = ""): Promise<string | undefined> {
  return (await h.find(PersistentVolumes, volume))?.spec?.csi?.volumeHandle;
}
