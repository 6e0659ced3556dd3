import assert from "node:assert/strict";
import { test } from "node:test";
import {
  CSIDrivers,
  Events,
  PersistentVolumeClaims,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { VOLUME_CONDITION } from "../common/names.ts";
import type { ControllerCapability } from "../csi/driver-info.ts";
import { type Harness, startHarness } from "../testing/harness.ts";
import { claim, DRIVER, snapshotClass, volumeSnapshot } from "../testing/objects.ts";

const sidecars = { health: { probeMs: 10, volumesMs: 10 } };
const eventsOf = async (h: Harness, reason: string) =>
  (await h.store.list(Events)).items.filter((event) => event.reason === reason);

async function createClaim(h: Harness): Promise<void> {
  const { metadata, ...rest } = claim("data");
  await h.store.create(PersistentVolumeClaims, {
    ...rest,
    metadata: { name: metadata.name, namespace: "default" },
  });
}

/** A claim with its volume: how to read the claim, and what the driver has of the volume. */
async function bound(h: Harness) {
  await createClaim(h);
  const find = async () => h.find(PersistentVolumeClaims, "data", "default");
  await h.until("it is bound", async () => (await find())?.status?.phase === "Bound");
  const [volume] = h.driver.backend.volumes.values();
  assert.ok(volume);
  return { find, volume };
}

test("a volume in a bad state is reported once on its claim, and so is its recovery", async (t) => {
  const can = ["CREATE_DELETE_VOLUME", "LIST_VOLUMES", "GET_VOLUME", "VOLUME_CONDITION"] as const;
  const h = await startHarness(t, { driver: { can: [...can] }, sidecars });
  const { find, volume } = await bound(h);
  volume.abnormal = "disk 3 has failed";
  await h.until(
    "it is reported",
    async () => (await find())?.metadata.annotations?.[VOLUME_CONDITION] === "disk 3 has failed",
  );
  await h.restart();
  const before = h.driver.called("ListVolumes");
  await h.until("it was read again", () => h.driver.called("ListVolumes") > before + 2);
  const [abnormal, ...more] = await h.until("the event", async () => {
    const found = await eventsOf(h, "VolumeConditionAbnormal");
    return found.length > 0 && found;
  });
  assert.equal(abnormal?.count, 1);
  assert.equal(more.length, 0);
  delete volume.abnormal;
  await h.until(
    "recovery is reported",
    async () => (await eventsOf(h, "VolumeConditionNormal")).length === 1,
  );
  assert.equal((await find())?.metadata.annotations?.[VOLUME_CONDITION], undefined);
  h.driver.backend.volumes.clear();
  await h.until("the loss is reported", async () =>
    (await eventsOf(h, "VolumeConditionAbnormal")).some(({ message }) =>
      /does not know the volume/.test(message ?? ""),
    ),
  );
});

test("conditions of a volume come from ControllerGetVolume where the driver has no list", async (t) => {
  const can = ["CREATE_DELETE_VOLUME", "GET_VOLUME", "VOLUME_CONDITION"] as const;
  const h = await startHarness(t, { driver: { can: [...can] }, sidecars });
  const { volume } = await bound(h);
  await h.until("it was read", () => h.driver.called("ControllerGetVolume") > 2);
  assert.equal((await eventsOf(h, "VolumeConditionAbnormal")).length, 0);
  volume.abnormal = "disk 3 has failed";
  await h.until("it is reported", async () => (await eventsOf(h, "VolumeConditionAbnormal")).length === 1);
  delete volume.abnormal;
  await h.until(
    "recovery is reported",
    async () => (await eventsOf(h, "VolumeConditionNormal")).length === 1,
  );
  assert.equal(h.driver.called("ListVolumes"), 0);
});

test("whether the driver responds is known all the time, and work goes on when it is back", async (t) => {
  const h = await startHarness(t, { sidecars: { ...sidecars, timeoutMs: 2_000 } });
  await h.until("it responds", () => h.sidecars.health.ready);
  await h.driver.pause();
  await h.until("it is seen to be gone", () => !h.sidecars.health.ready);
  await createClaim(h);
  await h.driver.listen();
  await h.until("it is seen to be back", () => h.sidecars.health.ready);
  await h.until(
    "it is bound",
    async () => (await h.find(PersistentVolumeClaims, "data", "default"))?.status?.phase === "Bound",
  );
  assert.equal(h.driver.backend.volumes.size, 1);
});

test("a driver that comes back as a newer one gets the controllers that it can have now", async (t) => {
  const can: ControllerCapability[] = ["CREATE_DELETE_VOLUME"];
  const h = await startHarness(t, {
    driver: { can, expansion: "none" },
    sidecars: { ...sidecars, timeoutMs: 2_000 },
  });
  assert.ok(!h.sidecars.controllers.includes("snapshot"));
  await h.store.create(VolumeSnapshotClasses, snapshotClass());
  const { metadata, ...rest } = claim("src");
  await h.store.create(PersistentVolumeClaims, {
    ...rest,
    metadata: { name: metadata.name, namespace: "default" },
  });
  await h.until(
    "it is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  await h.driver.pause();
  await h.until("it is seen to be gone", () => !h.sidecars.health.ready);
  can.push("CREATE_DELETE_SNAPSHOT");
  await h.driver.listen();
  const { uid: _uid, ...meta } = volumeSnapshot("snap").metadata;
  const spec = { source: { persistentVolumeClaimName: "src" }, volumeSnapshotClassName: "snaps" };
  await h.store.create(VolumeSnapshots, { ...volumeSnapshot("snap", spec), metadata: meta });
  await h.until(
    "the snapshot is ready",
    async () => (await h.find(VolumeSnapshots, "snap", "default"))?.status?.readyToUse,
  );
});

test("a driver that starts anew between two probes is asked again what it can do", async (t) => {
  const can: ControllerCapability[] = ["CREATE_DELETE_VOLUME", "CREATE_DELETE_SNAPSHOT"];
  const h = await startHarness(t, {
    driver: { can, expansion: "none" },
    // Longer than it is away.
    sidecars: { health: { probeMs: 2_000, volumesMs: 60_000 } },
  });
  await h.store.create(CSIDrivers, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name: DRIVER }, spec: {} },
  });
  await h.until("it was probed", () => h.driver.called("Probe") > 1);
  can.pop();
  await h.driver.pause();
  await h.driver.listen();
  const [{ message, type } = {}] = await h.until("it is reported", async () => {
    const found = await eventsOf(h, "CSIDriverChanged");
    return found.length > 0 && found;
  });
  assert.equal(type, "Warning");
  assert.match(message ?? "", /no longer has CREATE_DELETE_SNAPSHOT/);
});
