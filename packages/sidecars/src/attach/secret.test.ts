import assert from "node:assert/strict";
import { test } from "node:test";
import type { v1 } from "@mooring/csi";
import { CSINodes, KubeVolumeAttachments, PersistentVolumes, Secrets } from "@mooring/store";
import { startHarness } from "../testing/harness.ts";
import { csiNode, DRIVER, persistentVolume } from "../testing/objects.ts";

test("a secret that is missing is reported on the attachment, one without data is a secret", async (t) => {
  const h = await startHarness(t, { objects: [[CSINodes, csiNode("n1")]] });
  const { id } = h.driver.backend.createVolume({ name: "v", bytes: 1n, fingerprint: "", topology: [] });
  const secretRef = { name: "key", namespace: "infra" };
  const csi = { driver: DRIVER, volumeHandle: id, controllerPublishSecretRef: secretRef };
  const { metadata, ...volume } = persistentVolume("pv", { csi });
  await h.store.create(PersistentVolumes, { ...volume, metadata: { name: metadata.name } });
  await h.store.create(KubeVolumeAttachments, {
    ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name: "a" } },
    spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: "pv" } },
  });
  const status = async () => (await h.store.get(KubeVolumeAttachments, { name: "a" })).status;
  await h.until(
    "it is reported",
    async () => /key/.test((await status())?.attachError?.message ?? ""),
    status,
  );
  assert.equal(h.driver.called("ControllerPublishVolume"), 0);
  await h.store.create(Secrets, { apiVersion: "v1", kind: "Secret", metadata: secretRef });
  await h.until("it is attached", async () => (await status())?.attached === true, status);
  await h.store.delete(KubeVolumeAttachments, { name: "a" });
  await h.until("it is gone", async () => (await h.find(KubeVolumeAttachments, "a")) === undefined);
  const calls = h.driver.calls.filter(({ method }) => /^Controller(Unp|P)ublishVolume$/.test(method));
  assert.deepEqual(
    calls.map(({ method, request }) => [
      method,
      { ...(request as v1.ControllerPublishVolumeRequest).secrets },
    ]),
    [
      ["ControllerPublishVolume", {}],
      ["ControllerUnpublishVolume", {}],
    ],
  );
});
