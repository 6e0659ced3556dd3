import assert from "node:assert/strict";
import { describe, test } from "node:test";
import type { SurveyedImage, Volume } from "@mooring/engine";
import type { PersistentVolume, PersistentVolumeClaim } from "@mooring/store";
import { POLICY } from "./annotations.ts";
import type { ImportContext } from "./context.ts";
import { type ImportPlan, planImport } from "./plan.ts";
import { planRollback } from "./rollback.ts";

const ALL = ["layering", "exclusive-lock", "object-map", "fast-diff", "deep-flatten"];

type Loose<T> = Partial<{ [K in keyof T]: T[K] | undefined }>;

const imageOf = (image: Loose<SurveyedImage> = {}): SurveyedImage =>
  ({
    ...{ name: "disk", cephID: "10ab", size: 8192, features: ALL, snapshots: 0, watchers: [] },
    ...{ content: { kind: "xfs", unit: 4096 }, sectorSize: 4096 },
    ...image,
  }) as SurveyedImage;

const contextOf = (context: Partial<ImportContext> = {}): ImportContext => ({
  ...{ pool: "ceph", where: "images", persistentVolumes: [], attachedTo: [], content: "xfs", made: {} },
  ...{ pods: [], others: new Set(["disk"]), storageClass: "", ofUnknownCluster: [] },
  ...context,
});

function plan(image: Loose<SurveyedImage> = {}, context: Loose<ImportContext> = {}): ImportPlan {
  return planImport(imageOf(image), contextOf(context as Partial<ImportContext>));
}

const retained = (volume: PersistentVolume): PersistentVolume => ({
  ...volume,
  metadata: { ...volume.metadata, annotations: { [POLICY]: "Delete" } },
  spec: { ...volume.spec, persistentVolumeReclaimPolicy: "Retain" },
});

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

const claim = (volumeName: string): PersistentVolumeClaim => ({
  ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
  metadata: { namespace: "shop", name: "data", uid: "u-1", labels: { app: "shop" } },
  spec: {
    ...{ accessModes: ["ReadWriteOnce"], storageClassName: "rook-ceph-block", volumeName },
    resources: { requests: { storage: "1Gi" } },
  },
});
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
      ...{ accessModes: ["ReadWriteOnce"], capacity: { storage: "8Ki" }, storageClassName: "" },
      csi: { driver: "csi.mooring.dev", volumeHandle: "v-import-ceph-10ab", fsType: "xfs" },
      ...{ persistentVolumeReclaimPolicy: "Retain", volumeMode: "Filesystem" },
    });
    assert.deepEqual(second, {
      do: "rename-image",
      run: ["rbd", "rename", "images/disk", "images/mooring.v-import-ceph-10ab"],
    });
    assert.ok(third !== undefined && "create" in third && third.create.kind === "Volume");
    assert.deepEqual(third.create.spec, {
      ...{ size: 8192, pool: "ceph", accessMode: "rwo", volumeMode: "Filesystem", fsType: "xfs" },
    });
  });

  test("goes on with what an import that was killed has made, and says what is whole", () => {
    const [first, , , third] = plan({}, { content: "block" }).steps;
    assert.ok(first !== undefined && "create" in first && third !== undefined && "create" in third);
    const persistentVolume = first.create as PersistentVolume;
    const renamed = { name: "mooring.v-import-ceph-10ab" };
    const made = { persistentVolume };
    assert.equal(plan({}, { made }).steps.length, 3);
    const rest = plan(renamed, { made, content: undefined });
    assert.deepEqual(rest.steps, [third], "what is in it is known from the PersistentVolume");
    const volume = third.create as ImportContext["made"]["volume"] & object;
    assert.equal(plan(renamed, { made: { persistentVolume, volume } }).state, "imported");
    assert.equal(plan(renamed, { made: { volume } }).state, "imported");
    assert.match(whys(plan({}, { made: { volume } })), /there is a Volume .* its image has another name/);
  });

  test("gives a device sectors of 512 bytes where what is in it needs them", () => {
    const sizeSet = (image: Parameters<typeof plan>[0], context: Partial<ImportContext> = {}) =>
      plan(image, context).steps.some((step) => step.do === "set-sector-size");
    assert.deepEqual(plan({ content: { kind: "xfs", unit: 512 } }).steps[1], {
      do: "set-sector-size",
      run: ["rbd", "image-meta", "set", "images/disk", "mooring.sector-size", "512"],
    });
    const block = { content: "block" } as const;
    assert.equal(sizeSet({ content: { kind: "ext4", unit: 1024 } }, { content: undefined }), true);
    assert.equal(sizeSet({ content: { kind: "partitions", unit: 512 } }, block), true);
    assert.equal(sizeSet({ content: { kind: "partitions", unit: 4096 } }, block), false);
    assert.equal(sizeSet({ content: { kind: "unknown" } }, block), true, "its user may rely on them");
    assert.equal(sizeSet({ content: { kind: "nothing" } }, block), false);
    assert.equal(sizeSet({ content: { kind: "xfs", unit: 4096 } }), false);
    assert.equal(sizeSet({ content: { kind: "xfs", unit: 512 }, sectorSize: 512 }), false, "it has them");
  });

  test("retains the old volume first, and makes its claim anew last, with its name", () => {
    const old = theirs({ ...csi(), persistentVolumeReclaimPolicy: "Delete" });
    const context = { persistentVolumes: [old], claim: claim("pvc-1"), storageClass: "fast" };
    const { steps } = plan({}, context);
    assert.deepEqual(
      steps.map((step) => step.do),
      [
        ...["retain", "create-persistent-volume", "rename-image", "create-volume"],
        ...["delete-claim", "create-claim"],
      ],
    );
    const [, made, , , gone, anew] = steps;
    const volume = made !== undefined && "create" in made ? (made.create as PersistentVolume) : assert.fail();
    assert.deepEqual(volume.spec?.claimRef, {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim", namespace: "shop", name: "data" },
    });
    assert.ok(gone !== undefined && "delete" in gone && gone.delete.uid === "u-1");
    assert.deepEqual(anew !== undefined && "create" in anew && anew.create, {
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { namespace: "shop", name: "data", labels: { app: "shop" } },
      spec: {
        ...{ accessModes: ["ReadWriteOnce"], storageClassName: "fast", volumeName: "import-ceph-10ab" },
        resources: { requests: { storage: "8Ki" } },
      },
    });
    const renamed = { name: "mooring.v-import-ceph-10ab" };
    const kept = { persistentVolume: volume, volume: { metadata: { name: "v" } } as Volume };
    const rest = (more: Partial<ImportContext>) =>
      planImport(imageOf(renamed), contextOf({ persistentVolumes: [retained(old)], made: kept, ...more }));
    assert.deepEqual(
      rest({}).steps.map((step) => step.do),
      ["create-claim"],
      "killed after the claim was deleted",
    );
    assert.equal(rest({ claim: claim("import-ceph-10ab") }).state, "imported");
  });

  test("goes back the same way, until a claim has been deleted", () => {
    const old = theirs({ ...csi(), persistentVolumeReclaimPolicy: "Delete" });
    const [, made] = plan({}, { persistentVolumes: [old], claim: claim("pvc-1") }).steps;
    const volume = made !== undefined && "create" in made ? (made.create as PersistentVolume) : assert.fail();
    const kept = {
      persistentVolume: volume,
      volume: { metadata: { name: "v-import-ceph-10ab", uid: "u-2" } } as Volume,
    };
    const back = (image: Partial<SurveyedImage>, more: Partial<ImportContext> = {}) =>
      planRollback(imageOf(image), contextOf({ persistentVolumes: [retained(old)], made: kept, ...more }));
    const renamed = { name: "mooring.v-import-ceph-10ab", sectorSize: 512 } as const;
    const others = new Set(["mooring.v-import-ceph-10ab"]);
    const there = { claim: claim("pvc-1"), others };
    assert.deepEqual(
      back(renamed, there).steps.map((step) => step.do),
      [
        ...["rename-back", "delete-volume", "remove-sector-size", "restore-policy"],
        "delete-persistent-volume",
      ],
    );
    assert.match(whys(back(renamed, { others })), /has been deleted for it/);
    assert.match(
      whys(back(renamed, { claim: claim("import-ceph-10ab"), others })),
      /has been deleted for it: from there on an import goes forward only/,
    );
    assert.match(
      whys(back(renamed, { ...there, others: new Set(["disk"]) })),
      /another image is called disk/,
    );
    assert.match(whys(back({ ...renamed, watchers: ["w"] }, there)), /w has it open/);
    assert.equal(back({}, { made: {}, persistentVolumes: [old] }).state, "as-before");
  });

  test("says everything that is in the way", () => {
    const rows: [RegExp, Parameters<typeof plan>[0], Partial<ImportContext>][] = [
      [/snapshot of ceph-csi/, { name: "csi-snap-1" }, {}],
      [/encrypted it/, { csi: { uuid: "u", request: "r", whole: true, encrypted: true } }, {}],
      [/encrypted it/, {}, { persistentVolumes: [theirs(csi({ volumeAttributes: { encrypted: "true" } }))] }],
      [/several PersistentVolumes/, {}, { persistentVolumes: [theirs(csi()), theirs(csi())] }],
      [/image mooring.v-import-ceph-10ab already/, {}, { others: new Set(["mooring.v-import-ceph-10ab"]) }],
      [/PersistentVolume pvc-1 already/, {}, { made: { persistentVolume: theirs(csi()) } }],
      [/claim shop\/data is not disk's any more: it has other/, {}, { claim: claim("other") }],
      [/pods use its claim: shop\/web-0/, {}, { pods: ["shop/web-0"] }],
      [/several nodes/, {}, { persistentVolumes: [theirs({ ...csi(), accessModes: ["ReadWriteMany"] })] }],
      [/attached to n1/, {}, { attachedTo: ["n1"] }],
      [/10.0.0.1:0\/1 has it open/, { watchers: ["10.0.0.1:0/1"] }, {}],
      [/lacks the features exclusive-lock/, { features: ["layering"] }, {}],
      [/features that no image .*: journaling/, { features: [...ALL, "journaling"] }, {}],
      [/no multiple of 4096/, { size: 5000 }, {}],
      [/nobody has said .* begins with unknown/, { content: { kind: "unknown" } }, { content: undefined }],
      [/said to have xfs, and begins with ext4/, { content: { kind: "ext4", unit: 4096 } }, {}],
      [/encrypted \(LUKS\)/, { content: { kind: "LUKS" } }, { content: "block" }],
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
