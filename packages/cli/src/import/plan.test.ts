import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SurveyedImage } from "@mooring/engine";
import type { PersistentVolume } from "@mooring/store";
import type { ImportContext } from "./context.ts";
import { type ImportPlan, planImport } from "./plan.ts";

const ALL = ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"];

function plan(
  image: Partial<{ [K in keyof SurveyedImage]: SurveyedImage[K] | undefined }> = {},
  context: Partial<ImportContext> = {},
): ImportPlan {
  return planImport(
    {
      ...{ name: "disk", cephID: "10ab", size: 8192, features: ALL, snapshots: 0, watchers: [] },
      content: { kind: "xfs", unit: 4096 },
      ...image,
    } as SurveyedImage,
    {
      ...{ pool: "ceph", where: "images", persistentVolumes: [], attachedTo: [], content: "xfs", made: {} },
      ...context,
    },
  );
}

function theirs(spec: NonNullable<PersistentVolume["spec"]>): PersistentVolume {
  return {
    ...{ apiVersion: "v1", kind: "PersistentVolume", metadata: { name: "pvc-1" } },
    spec: {
      ...{
        accessModes: ["ReadWriteOnce"],
        persistentVolumeReclaimPolicy: "Retain",
        volumeMode: "Filesystem",
      },
      ...spec,
    },
  };
}

const csi = (more: object = {}) => ({
  csi: { driver: "rbd.csi.ceph.com", volumeHandle: "h", fsType: "xfs", ...more },
});
const whys = ({ obstacles }: ImportPlan): string => obstacles.map(({ why }) => why).join("; ");

describe("the plan of an import", () => {
  test("keeps the data whatever is deleted: the PersistentVolume is retained, and made before the image is renamed", () => {
    const { state, steps } = plan();
    assert.equal(state, "ready");
    const [first, second, third, ...more] = steps;
    assert.deepEqual(more, []);
    assert.ok(first !== undefined && "create" in first && first.create.kind === "PersistentVolume");
    assert.deepEqual(first.create.spec, {
      ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "8192" }, storageClassName: "" },
      csi: { driver: "csi.mooring.dev", volumeHandle: "v-import-ceph-10ab", fsType: "xfs" },
      ...{ persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" },
    });
    assert.deepEqual(second, { run: "rbd rename images/disk images/mooring.v-import-ceph-10ab" });
    assert.ok(third !== undefined && "create" in third && third.create.kind === "Volume");
    assert.deepEqual(third.create.spec, {
      ...{ size: 8192, pool: "ceph", accessMode: "rwo", volumeMode: "Filesystem", fsType: "xfs" },
    });
  });

  test("goes on with what an import that was killed has made, and says what is whole", () => {
    const [first, , third] = plan({}, { content: "block" }).steps;
    assert.ok(first !== undefined && "create" in first && third !== undefined && "create" in third);
    const persistentVolume = first.create as PersistentVolume;
    const renamed = { name: "mooring.v-import-ceph-10ab" };
    const made = { persistentVolume };
    assert.equal(plan({}, { made }).steps.length, 2);
    const rest = plan(renamed, { made, content: undefined });
    assert.deepEqual(rest.steps, [third], "what is in it is known from the PersistentVolume");
    const volume = third.create as ImportContext["made"]["volume"] & object;
    assert.equal(plan(renamed, { made: { persistentVolume, volume } }).state, "imported");
    assert.equal(plan(renamed, { made: { volume } }).state, "imported");
    assert.match(whys(plan({}, { made: { volume } })), /there is a Volume .* its image has another name/);
  });

  test("says everything that is in the way", () => {
    const rows: [RegExp, Parameters<typeof plan>[0], Partial<ImportContext>][] = [
      [/snapshot of ceph-csi/, { name: "csi-snap-1" }, {}],
      [/encrypted it/, { csi: { uuid: "u", request: "r", whole: true, encrypted: true } }, {}],
      [/encrypted it/, {}, { persistentVolumes: [theirs(csi({ volumeAttributes: { encrypted: "true" } }))] }],
      [/several PersistentVolumes/, {}, { persistentVolumes: [theirs(csi()), theirs(csi())] }],
      [
        /deletes it with its PersistentVolume pvc-1/,
        {},
        { persistentVolumes: [theirs({ ...csi(), persistentVolumeReclaimPolicy: "Delete" })] },
      ],
      [/several nodes/, {}, { persistentVolumes: [theirs({ ...csi(), accessModes: ["ReadWriteMany"] })] }],
      [/attached to n1/, {}, { attachedTo: ["n1"] }],
      [/10.0.0.1:0\/1 has it open/, { watchers: ["10.0.0.1:0/1"] }, {}],
      [/lacks the features exclusive-lock/, { features: ["layering"] }, {}],
      [/features that no image .*: journaling/, { features: [...ALL, "journaling"] }, {}],
      [/no multiple of 4096/, { size: 5000 }, {}],
      [/nobody has said .* begins with unknown/, { content: { kind: "unknown" } }, { content: undefined }],
      [/said to have xfs, and begins with ext4/, { content: { kind: "ext4", unit: 4096 } }, {}],
      [/\(xfs\) counts in 512 bytes/, { content: { kind: "xfs", unit: 512 } }, {}],
      [/\(partitions\) counts in 512/, { content: { kind: "partitions", unit: 512 } }, { content: "block" }],
      [/encrypted \(LUKS\)/, { content: { kind: "LUKS" } }, { content: "block" }],
      [/in images\/base still/, { content: undefined, parent: "images/base" }, {}],
      [/said to have ntfs/, {}, { persistentVolumes: [theirs(csi({ fsType: "ntfs" }))] }],
    ];
    for (const [why, image, context] of rows) {
      const found = plan(image, context);
      assert.equal(found.state, "blocked", String(why));
      assert.match(whys(found), why);
      assert.equal(found.obstacles.length, 1, whys(found));
      assert.deepEqual(found.steps, []);
    }
    assert.equal(plan({ content: { kind: "nothing" } }).state, "ready", "Mooring makes its file system");
    assert.equal(plan({ content: { kind: "unknown" } }, { content: "block" }).state, "ready");
    assert.equal(plan({}, { content: undefined }).state, "ready", "it says itself what it is");
    const both = plan({ size: 5000, features: ["layering"] });
    assert.equal(both.obstacles.length, 2);
    assert.deepEqual(
      both.obstacles.map(({ next }) => next),
      ["rbd feature enable images/disk exclusive-lock", "rbd resize images/disk --size 8192B"],
    );
  });

  test("says what stays as it is", () => {
    const { state, notes } = plan({
      ...{ snapshots: 2, parent: "images/base", group: "images/g", features: ["layering", "exclusive-lock"] },
      csi: { uuid: "u", request: "r", whole: false, encrypted: false },
    });
    assert.equal(state, "ready");
    for (const what of [
      /2 RBD snapshots/,
      /clone of images\/base/,
      /group images\/g/,
      /no object-map/,
      /no name that leads/,
    ])
      assert.ok(
        notes.some((note) => what.test(note)),
        String(what),
      );
  });
});
