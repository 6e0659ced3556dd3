import assert from "node:assert/strict";
import { test } from "node:test";
import type { RbdSurvey, SurveyedImage } from "@mooring/engine";
import type { PersistentVolume } from "@mooring/store";
import { planImport } from "./plan.ts";
import { type ImportObjects, type ImportPlace, plansOf } from "./read.ts";

const UUID = "0f5ba1f2-7d4a-4c8e-9d3b-0123456789ab";
const POOL_ID = 2;

function image(name: string): SurveyedImage {
  return {
    ...{ name, cephID: `id-${name}`, size: 8192, snapshots: 0, watchers: [], sectorSize: 4096 },
    features: ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"],
    content: { kind: "ext4", unit: 4096 } as unknown as SurveyedImage["content"],
  };
}

function theirs(
  name: string,
  volumeHandle: string,
  volumeAttributes: Record<string, string>,
): PersistentVolume {
  return {
    ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name } },
    spec: {
      ...{ accessModes: ["ReadWriteOnce"], persistentVolumeReclaimPolicy: "Retain" },
      ...{ volumeMode: "Filesystem" },
      csi: { driver: "rbd.csi.ceph.com", volumeHandle, fsType: "ext4", volumeAttributes },
    },
  };
}

const declared = (name: string, cluster: Record<string, string>): PersistentVolume =>
  theirs(name, "disk", { staticVolume: "true", pool: "images", ...cluster });
const made = (name: string, clusterID: string, uuid: string): PersistentVolume => {
  const length = clusterID.length.toString(16).padStart(4, "0");
  return theirs(name, `0001-${length}-${clusterID}-${POOL_ID.toString(16).padStart(16, "0")}-${uuid}`, {});
};

/** The plan of the image `disk`, with these volumes of ceph-csi. */
function planned(persistentVolumes: PersistentVolume[], more: Partial<ImportPlace> = {}) {
  const objects: ImportObjects = { volumes: [], persistentVolumes, claims: [], pods: [], attachments: [] };
  const place = {
    pool: "ceph",
    cephPool: "images",
    namespace: undefined,
    content: undefined,
    storageClass: "",
  };
  const names = new Set(["disk", `csi-vol-${UUID}`]);
  const survey: RbdSurvey = { poolID: POOL_ID, images: [image("disk")], names };
  let described: string[] = [];
  const [plan] = plansOf(objects, { ...place, ...more }, survey, (each, context) => {
    described = context.persistentVolumes.map(({ metadata }) => metadata.name);
    return planImport(each, context);
  });
  const whys = plan?.obstacles.map(({ why }) => why).join("; ") ?? "";
  return { described, whys, next: plan?.obstacles[0]?.next ?? "" };
}

const HERE = { clusterID: "here" };
const OTHER_UUID = "11111111-7d4a-4c8e-9d3b-0123456789ab";

test("a volume that was declared by hand is found by its names where ceph-csi knows one cluster", () => {
  for (const alone of [
    [declared("pv", HERE)],
    [declared("pv", {})],
    [declared("pv", HERE), made("a", "here", OTHER_UUID)],
  ]) {
    const { described, whys } = planned(alone);
    assert.deepEqual(described, ["pv"]);
    assert.equal(whys, "");
  }
});

test("with several clusters it is refused unless something shows that it is of this one", () => {
  const elsewhere = made("other", "there", OTHER_UUID);
  for (const own of [HERE, {}]) {
    const { whys, next } = planned([declared("pv", own), elsewhere]);
    assert.match(whys, /PersistentVolume pv, .* was declared by hand, there are others of other clusters/);
    assert.match(next, /--cluster-id/);
  }
  assert.match(planned([declared("pv", HERE), elsewhere]).whys, /of the cluster here,/);
  assert.match(planned([declared("pv", {}), elsewhere]).whys, /which does not name its cluster,/);
});

test("volumes that ceph-csi has made in this pool show what it calls the cluster", () => {
  const { described, whys } = planned([
    declared("pv", HERE),
    made("ours", "here", UUID),
    made("other", "there", OTHER_UUID),
  ]);
  assert.deepEqual(described, ["pv"]);
  assert.equal(whys, "");
  // The same pool number in the other cluster shows nothing.
  const wrong = planned([declared("pv", { clusterID: "there" }), made("ours", "here", UUID)]);
  assert.match(wrong.whys, /of the cluster there,/);
});

test("the operator says which cluster it is, and volumes of another one are never taken for this image", () => {
  const both = [declared("pv", HERE), declared("same-names", { clusterID: "there" })];
  assert.match(planned(both).whys, /several PersistentVolumes/);
  for (const [clusterID, name] of [
    ["here", "pv"],
    ["there", "same-names"],
  ] as const) {
    const { described, whys } = planned(both, { clusterID });
    assert.deepEqual(described, [name]);
    assert.equal(whys, "");
  }
});
