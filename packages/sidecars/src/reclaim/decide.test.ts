import assert from "node:assert/strict";
import { test } from "node:test";
import type { KubeVolumeAttachment, PersistentVolume } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { PV_FINALIZER } from "../common/names.ts";
import { DRIVER, driverInfo, persistentVolume } from "../testing/objects.ts";
import { decideReclaim, type ReclaimView } from "./decide.ts";

const driver = driverInfo(["CREATE_DELETE_VOLUME", "PUBLISH_UNPUBLISH_VOLUME"]);
const isProtected = { finalizers: [PV_FINALIZER] };
const deleting = { ...isProtected, deletionTimestamp: "t" };
const volume = (phase: string, policy: string, metadata: object = isProtected): PersistentVolume =>
  persistentVolume("pv", { persistentVolumeReclaimPolicy: policy }, metadata, { phase });
const attachment = (metadata: object = {}): KubeVolumeAttachment => ({
  apiVersion: "storage.k8s.io/v1",
  kind: "VolumeAttachment",
  metadata: { name: "a", ...metadata },
  spec: { attacher: DRIVER, nodeName: "n1", source: { persistentVolumeName: "pv" } },
});

const rows: [title: string, changes: Partial<ReclaimView>, step: string][] = [
  ["bound, unprotected", { volume: volume("Bound", "Delete", {}) }, "add-finalizer"],
  ["bound, protected", { volume: volume("Bound", "Delete") }, "done"],
  [
    "bound, unprotected, being deleted: too late",
    { volume: volume("Bound", "Delete", { deletionTimestamp: "t" }) },
    "done",
  ],
  ["policy Retain", { volume: volume("Released", "Retain") }, "drop-finalizer"],
  [
    "policy Retain, and a record would have the volume made and removed again",
    { volume: volume("Bound", "Retain"), recorded: true },
    "done",
  ],
  ["policy Retain, unprotected", { volume: volume("Released", "Retain", {}) }, "done"],
  ["policy Recycle", { volume: volume("Released", "Recycle") }, "drop-finalizer"],
  ["released", { volume: volume("Released", "Delete") }, "delete-data"],
  ["released, never protected", { volume: volume("Released", "Delete", {}) }, "delete-data"],
  ["released and deleted by somebody", { volume: volume("Released", "Delete", deleting) }, "delete-data"],
  [
    "released, deleted, not protected: not ours to finish",
    { volume: volume("Released", "Delete", { deletionTimestamp: "t" }) },
    "done",
  ],
  ["available", { volume: volume("Available", "Delete") }, "done"],
  [
    "released, still attached",
    { volume: volume("Released", "Delete"), attachments: [attachment()] },
    "report-attached",
  ],
  [
    "released, being detached",
    { volume: volume("Released", "Delete"), attachments: [attachment({ deletionTimestamp: "t" })] },
    "done",
  ],
  [
    "attached, by a driver that does not publish",
    {
      driver: driverInfo(["CREATE_DELETE_VOLUME"]),
      volume: volume("Released", "Delete"),
      attachments: [attachment()],
    },
    "delete-data",
  ],
  ["a failed delete", { volume: volume("Released", "Delete"), backoffMs: 5 }, "wait"],
  ["released while a snapshot of it is made", { volume: volume("Released", "Delete"), copied: true }, "done"],
  ["data gone", { volume: volume("Released", "Delete"), removed: true }, "delete-object"],
  [
    "data gone, object waiting",
    { volume: volume("Released", "Delete", deleting), removed: true },
    "drop-finalizer",
  ],
  [
    "another driver's",
    {
      volume: persistentVolume("pv", { csi: { driver: "x", volumeHandle: "h" } }, isProtected, {
        phase: "Released",
      }),
    },
    "done",
  ],
  ["gone", { volume: undefined }, "done"],
];

for (const [title, changes, step] of rows) {
  test(`reclaim: ${title}`, () => {
    covers("K8S-033", "K8S-034");
    const view: ReclaimView = {
      driver,
      volume: undefined,
      attachments: [],
      recorded: false,
      copied: false,
      removed: false,
      backoffMs: 0,
      ...changes,
    };
    assert.equal(decideReclaim(view).do, step);
  });
}
