import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Code } from "@mooring/csi";
import {
  Events,
  type KubeObject,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  Secrets,
  StorageClasses,
  VolumeAttributesClasses,
} from "@mooring/store";
import { type Harness, type HarnessOptions, startHarness } from "../testing/harness.ts";
import { DRIVER, storageClass } from "../testing/objects.ts";
import { pvc } from "../testing/snapshot-world.ts";

const attributes = (name: string, parameters: Record<string, string> = { tier: name }) => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttributesClass",
  metadata: { name },
  driverName: DRIVER,
  parameters,
});
const KEY = { name: "data", namespace: "default" };
const read = (h: Harness) => h.store.get(PersistentVolumeClaims, KEY);
const ask = (h: Harness, volumeAttributesClassName: string) =>
  h.store.patch(PersistentVolumeClaims, KEY, {
    type: "merge",
    body: { spec: { volumeAttributesClassName } },
  });
const volumeOf = async (h: Harness) =>
  h.store.get(PersistentVolumes, { name: (await read(h)).spec?.volumeName ?? "" });
const claimIs = (
  h: Harness,
  what: string,
  is: (status: NonNullable<PersistentVolumeClaim["status"]>) => boolean,
) =>
  h.until(
    what,
    async () => is((await read(h)).status ?? {}),
    () => read(h),
  );
const inForce = (h: Harness, name: string) =>
  claimIs(
    h,
    `${name} is in force`,
    (status) => status.currentVolumeAttributesClassName === name && status.modifyVolumeStatus === undefined,
  );
const tierOf = (h: Harness) => [...h.driver.backend.volumes.values()][0]?.attributes?.tier;
const reasons = async (h: Harness) => (await h.store.list(Events)).items.map(({ reason }) => reason);

/** A bound claim without a class of attributes, and the classes gold and silver. */
async function start(t: TestContext, options: HarnessOptions = {}): Promise<Harness> {
  const objects: [Resource, KubeObject][] = ["gold", "silver"].map((n) => [
    VolumeAttributesClasses,
    attributes(n),
  ]);
  const h = await startHarness(t, {
    driver: { can: ["CREATE_DELETE_VOLUME", "MODIFY_VOLUME"] },
    ...options,
    objects: [...objects, ...(options.objects ?? [])],
  });
  await h.store.create(PersistentVolumeClaims, pvc("data"));
  await claimIs(h, "it is bound", ({ phase }) => phase === "Bound");
  return h;
}

test("a claim that asks for a class gets it: the driver, the volume's object and the claim agree", async (t) => {
  const h = await start(t);
  await ask(h, "gold");
  await inForce(h, "gold");
  assert.equal(tierOf(h), "gold");
  assert.equal((await volumeOf(h)).spec?.volumeAttributesClassName, "gold");
  assert.deepEqual((await read(h)).status?.conditions, []);
  await ask(h, "silver");
  await inForce(h, "silver");
  assert.equal(tierOf(h), "silver");
  assert.equal(h.driver.called("ControllerModifyVolume"), 2);
  await h.until("both are reported", async () => {
    const all = await reasons(h);
    return all.includes("VolumeModify") && all.includes("VolumeModifySuccessful");
  });
});

test("a volume that is made with a class has it, and is not modified", async (t) => {
  const h = await start(t);
  await h.store.create(PersistentVolumeClaims, pvc("born", { volumeAttributesClassName: "gold" }));
  const born = () => h.find(PersistentVolumeClaims, "born", "default");
  await h.until(
    "it is reported",
    async () => (await born())?.status?.currentVolumeAttributesClassName === "gold",
    born,
  );
  assert.equal(h.driver.called("ControllerModifyVolume"), 0);
});

test("a class that is not there yet is waited for, without a call", async (t) => {
  const h = await start(t);
  await ask(h, "late");
  await claimIs(h, "it is pending", ({ modifyVolumeStatus: s }) => s?.status === "Pending");
  assert.match((await read(h)).status?.conditions?.[0]?.message ?? "", /late does not exist/);
  assert.equal(h.driver.called("ControllerModifyVolume"), 0);
  await h.store.create(VolumeAttributesClasses, attributes("late"));
  await inForce(h, "late");
});

test("an infeasible class is reported and repeated rarely; going on to another works at once", async (t) => {
  const h = await start(t, { sidecars: { retry: { startMs: 1, maxMs: 5, infeasibleMs: 600_000 } } });
  h.driver.faults.add({
    method: "ControllerModifyVolume",
    code: Code.INVALID_ARGUMENT,
    message: "tier gold costs more",
    times: Number.POSITIVE_INFINITY,
    when: (request) =>
      (request as { mutableParameters: Record<string, string> }).mutableParameters.tier === "gold",
  });
  await ask(h, "gold");
  await claimIs(h, "it is infeasible", ({ modifyVolumeStatus: s }) => s?.status === "Infeasible");
  const { conditions } = (await read(h)).status ?? {};
  assert.deepEqual(
    conditions?.map(({ type, message }) => `${type}: ${message}`).join(),
    "ModifyVolumeError: tier gold costs more",
  );
  assert.equal((await volumeOf(h)).spec?.volumeAttributesClassName, undefined);
  await ask(h, "silver");
  await inForce(h, "silver");
  assert.equal(h.driver.called("ControllerModifyVolume"), 2);
});

test("a change that may have been made is finished before a newer wish, also after a restart", async (t) => {
  const h = await start(t);
  const times = Number.POSITIVE_INFINITY;
  h.driver.faults.add({
    method: "ControllerModifyVolume",
    code: Code.DEADLINE_EXCEEDED,
    effect: true,
    times,
  });
  await ask(h, "gold");
  await h.until("it was made, and nobody has seen it", () => tierOf(h) === "gold");
  await ask(h, "silver");
  await h.restart();
  const before = h.driver.calls.length;
  h.driver.faults.clear();
  await inForce(h, "silver");
  const tiers = h.driver.calls
    .slice(before)
    .filter(({ method }) => method === "ControllerModifyVolume")
    .map(({ request }) => (request as { mutableParameters: { tier: string } }).mutableParameters.tier);
  assert.deepEqual([...new Set(tiers)], ["gold", "silver"]);
  assert.equal(tierOf(h), "silver");
});

test("the call has the secret of the class that the volume was made with, and names on request", async (t) => {
  const P = "csi.storage.k8s.io/";
  const parameters = {
    [`${P}controller-modify-secret-name`]: "modify",
    [`${P}controller-modify-secret-namespace`]: "default",
  };
  const secret = {
    apiVersion: "v1",
    kind: "Secret",
    metadata: { name: "modify", namespace: "default" },
    data: { key: Buffer.from("hunter2").toString("base64") },
  };
  const h = await start(t, {
    objects: [
      [Secrets, secret],
      [StorageClasses, storageClass({ metadata: { name: "secret" }, parameters })],
    ],
    sidecars: { modify: { extraModifyMetadata: true } },
  });
  await h.store.delete(PersistentVolumeClaims, KEY);
  await h.until("it is gone", async () => (await h.store.list(PersistentVolumes)).items.length === 0);
  await h.store.create(PersistentVolumeClaims, pvc("data", { storageClassName: "secret" }));
  await claimIs(h, "it is bound", ({ phase }) => phase === "Bound");
  await ask(h, "gold");
  await inForce(h, "gold");
  const call = h.driver.calls.find(({ method }) => method === "ControllerModifyVolume");
  const { mutableParameters, secrets } = (call?.request ?? {}) as Record<string, Record<string, string>>;
  assert.deepEqual(secrets, { key: "hunter2" });
  assert.deepEqual(mutableParameters, {
    tier: "gold",
    [`${P}pvc/name`]: "data",
    [`${P}pvc/namespace`]: "default",
    [`${P}pv/name`]: (await volumeOf(h)).metadata.name,
  });
});
