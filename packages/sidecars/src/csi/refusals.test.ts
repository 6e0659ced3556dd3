import assert from "node:assert/strict";
import { test } from "node:test";
import { Code } from "@mooring/csi";
import {
  CSINodes,
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  PersistentVolumes,
  VolumeSnapshotClasses,
  VolumeSnapshots,
} from "@mooring/store";
import { covers, thorough } from "@mooring/store/testing";
import { type Harness, type HarnessOptions, startHarness } from "../testing/harness.ts";
import { csiNode, DRIVER, persistentVolume, snapshotClass } from "../testing/objects.ts";
import { pvc, start as startWithSnapshots, vs } from "../testing/snapshot-world.ts";
import { assertGrowing, timesOf } from "../testing/times.ts";

const AT_ONCE = { startMs: 1, maxMs: 4, infeasibleMs: 4 };
const SLOWER = { startMs: 10, maxMs: 60_000, infeasibleMs: 60_000 };
/** How long each refused call takes: two at once would come closer to each other than that. */
const CALL_MS = 15;

const attachment = (name: string, nodeName = "n1") => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name },
  spec: { attacher: DRIVER, nodeName, source: { persistentVolumeName: "pv" } },
});

const make = (h: Harness, name: string, spec = {}) => h.store.create(PersistentVolumeClaims, pvc(name, spec));
const volumeOf = (h: Harness, name: string) =>
  h.until(`claim ${name} to be bound`, async () => {
    const found = await h.find(PersistentVolumeClaims, name, "default");
    return found?.status?.phase === "Bound" && found.spec?.volumeName;
  });
const attached = (h: Harness, name: string) =>
  h.until(`${name} to be attached`, async () => {
    return (await h.find(KubeVolumeAttachments, name))?.status?.attached === true;
  });
const detached = (h: Harness, name: string) =>
  h.until(`${name} to be gone`, async () => (await h.find(KubeVolumeAttachments, name)) === undefined);

/** A volume that the driver has, and two nodes. */
async function startWithVolume(t: Parameters<typeof startHarness>[0], options: HarnessOptions = {}) {
  const h = await startHarness(t, {
    sidecars: { retry: SLOWER },
    objects: [
      [CSINodes, csiNode("n1")],
      [CSINodes, csiNode("n2")],
    ],
    ...options,
  });
  const { id } = h.driver.backend.createVolume({ name: "v", bytes: 1n, fingerprint: "", topology: [] });
  const { metadata, ...rest } = persistentVolume("pv", { csi: { driver: DRIVER, volumeHandle: id } });
  await h.store.create(PersistentVolumes, { ...rest, metadata: { name: metadata.name } });
  return { h, volume: h.driver.backend.volume(id) };
}

test(
  "whatever code comes, the work is done in the end, and one that is not implemented holds up nobody else",
  thorough(),
  async (t) => {
    covers("CSI-028");
    const h = await startWithSnapshots(t, {
      sidecars: { retry: AT_ONCE },
      objects: [
        [CSINodes, csiNode("n1")],
        [VolumeSnapshotClasses, snapshotClass()],
      ],
    });
    const codes = Object.values(Code).filter((code) => code !== Code.OK && code !== Code.UNIMPLEMENTED);
    assert.equal(codes.length, 15);
    const methods = [
      ...["CreateVolume", "ControllerPublishVolume", "ControllerUnpublishVolume", "DeleteVolume"],
      ...["CreateSnapshot", "DeleteSnapshot"],
    ];
    for (const method of methods) for (const code of codes) h.driver.faults.add({ method, code });
    await make(h, "one");
    const volumeName = (await volumeOf(h, "one")) || assert.fail();
    const refused = { method: "CreateVolume", code: Code.UNIMPLEMENTED, times: 1_000 };
    const bytes = 7n * 1024n ** 3n;
    const isLarge = (request: object) =>
      (request as { capacityRange?: { requiredBytes: bigint } }).capacityRange?.requiredBytes === bytes;
    h.driver.faults.add({ ...refused, when: isLarge });
    await make(h, "never", { resources: { requests: { storage: "7Gi" } } });
    await make(h, "other");
    await volumeOf(h, "other");
    const source = { persistentVolumeName: volumeName };
    await h.store.create(KubeVolumeAttachments, {
      ...attachment("a"),
      spec: { ...attachment("a").spec, source },
    });
    await attached(h, "a");
    await h.store.delete(KubeVolumeAttachments, { name: "a" });
    await detached(h, "a");
    await h.store.create(VolumeSnapshots, vs("snap"));
    const snapshot = () => h.find(VolumeSnapshots, "snap", "default");
    await h.until("the snapshot to be ready", async () => (await snapshot())?.status?.readyToUse);
    await h.store.delete(VolumeSnapshots, { namespace: "default", name: "snap" });
    await h.until("the snapshot to be gone", async () => (await snapshot()) === undefined);
    for (const name of ["src", "one", "other", "never"])
      await h.store.delete(PersistentVolumeClaims, { namespace: "default", name });
    await h.until("nothing to be left", async () => {
      const { items } = await h.store.list(PersistentVolumes);
      const { snapshots, volumes } = h.driver.backend;
      return items.length === 0 && volumes.size === 0 && snapshots.size === 0;
    });
    for (const method of methods) assert.ok(h.driver.called(method) > codes.length, method);
  },
);

for (const [name, row] of [
  ["FAILED_PRECONDITION", "CSI-135"],
  ["ABORTED", "CSI-137"],
] as const) {
  test(
    `a deletion that is refused with ${name} comes again alone, less and less often`,
    thorough(),
    async (t) => {
      covers(row);
      const h = await startHarness(t, { sidecars: { retry: SLOWER } });
      await make(h, "data");
      await volumeOf(h, "data");
      const times = timesOf(h, "DeleteVolume");
      h.driver.faults.add({ method: "DeleteVolume", code: Code[name], delayMs: CALL_MS, times: 4 });
      await h.store.delete(PersistentVolumeClaims, { namespace: "default", name: "data" });
      await h.until("the volume to be gone", () => h.driver.backend.volumes.size === 0);
      assert.equal(times.length, 5);
      assertGrowing(times, SLOWER.startMs, CALL_MS);
    },
  );
}

for (const [name, row] of [
  ["NOT_FOUND", "CSI-152"],
  ["FAILED_PRECONDITION", "CSI-156"],
  ["ABORTED", "CSI-160"],
] as const) {
  test(
    `an attachment that is refused with ${name} comes again alone, less and less often`,
    thorough(),
    async (t) => {
      covers(row);
      const { h, volume } = await startWithVolume(t);
      const times = timesOf(h, "ControllerPublishVolume");
      h.driver.faults.add({
        method: "ControllerPublishVolume",
        code: Code[name],
        delayMs: CALL_MS,
        times: 4,
      });
      await h.store.create(KubeVolumeAttachments, attachment("a"));
      await attached(h, "a");
      assert.deepEqual([[...volume.publishedTo], times.length], [["id-n1"], 5]);
      assertGrowing(times, SLOWER.startMs, CALL_MS);
    },
  );
}

for (const [name, row] of [
  ["NOT_FOUND", "CSI-172"],
  ["ABORTED", "CSI-174"],
] as const) {
  test(
    `a detachment that is refused with ${name} comes again alone, less and less often`,
    thorough(),
    async (t) => {
      covers(row);
      const { h, volume } = await startWithVolume(t);
      await h.store.create(KubeVolumeAttachments, attachment("a"));
      await attached(h, "a");
      const times = timesOf(h, "ControllerUnpublishVolume");
      const fault = { method: "ControllerUnpublishVolume", code: Code[name], delayMs: CALL_MS, times: 4 };
      h.driver.faults.add(fault);
      await h.store.delete(KubeVolumeAttachments, { name: "a" });
      await detached(h, "a");
      assert.deepEqual([volume.publishedTo.size, times.length], [0, 5]);
      assertGrowing(times, SLOWER.startMs, CALL_MS);
    },
  );
}

test(
  "a node or a volume that is not found is looked up before it is asked for again",
  thorough(),
  async (t) => {
    covers("CSI-152", "CSI-172");
    // Alone by a change of what the object says is the driver asked again.
    const retry = { startMs: 3_600_000, maxMs: 3_600_000, infeasibleMs: 3_600_000 };
    const { h, volume } = await startWithVolume(t, {
      sidecars: { retry },
      objects: [[CSINodes, csiNode("n1", [], "old")]],
    });
    const asked = (method: string, nodeId: string) =>
      h.until(`${method} for ${nodeId}`, () =>
        h.driver.calls.some(
          (call) => call.method === method && (call.request as { nodeId: string }).nodeId === nodeId,
        ),
      );
    const rename = async (nodeID: string) => {
      const drivers = [{ name: DRIVER, nodeID, topologyKeys: [] }];
      await h.store.patch(CSINodes, { name: "n1" }, { type: "merge", body: { spec: { drivers } } });
    };
    for (const method of ["ControllerPublishVolume", "ControllerUnpublishVolume"])
      h.driver.faults.add({ method, code: Code.NOT_FOUND, message: "no such node" });
    await h.store.create(KubeVolumeAttachments, attachment("a"));
    await asked("ControllerPublishVolume", "old");
    await rename("new");
    await asked("ControllerPublishVolume", "new");
    await attached(h, "a");
    await h.store.delete(KubeVolumeAttachments, { name: "a" });
    await asked("ControllerUnpublishVolume", "new");
    await rename("newer");
    await asked("ControllerUnpublishVolume", "newer");
    await detached(h, "a");
    assert.deepEqual(
      [...volume.publishedTo],
      ["new"],
      "the driver was asked about the node as it is called now",
    );
  },
);
