import type { TestContext } from "node:test";
import {
  type KubeObject,
  PersistentVolumeClaims,
  type Resource,
  VolumeSnapshotClasses,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { fresh, NS } from "./group-world.ts";
import { type Harness, type HarnessOptions, startHarness } from "./harness.ts";
import { claim, snapshotClass, volumeSnapshot } from "./objects.ts";

/** A claim as a client creates it. */
export const pvc = (name: string, spec = {}) => {
  const plain = fresh(claim(name, spec));
  return { ...plain, metadata: { name, namespace: NS } };
};

/** A snapshot of the claim `src`, of the class `snaps`. */
export const vs = (name: string, spec: object = {}) =>
  fresh(
    volumeSnapshot(name, {
      source: { persistentVolumeClaimName: "src" },
      volumeSnapshotClassName: "snaps",
      ...spec,
    }),
  );

/** A control plane with the class `snaps` and the bound claim `src`. */
export async function start(t: TestContext, options: HarnessOptions = {}): Promise<Harness> {
  const classes: [Resource, KubeObject][] = options.objects ?? [[VolumeSnapshotClasses, snapshotClass()]];
  const h = await startHarness(t, { ...options, objects: classes });
  await h.store.create(PersistentVolumeClaims, pvc("src"));
  await h.until(
    "the source is bound",
    async () => (await h.find(PersistentVolumeClaims, "src", "default"))?.status?.phase === "Bound",
  );
  return h;
}

export const snapshotOf = (h: Harness, name = "snap") =>
  h.store.get(VolumeSnapshots, { name, namespace: NS });

export const ready = (h: Harness, name = "snap") =>
  h.until(
    `${name} is ready`,
    async () => {
      const found = await snapshotOf(h, name);
      return found.status?.readyToUse && found;
    },
    async () => [await snapshotOf(h, name), (await h.store.list(VolumeSnapshotContents)).items],
  );

export const errorOf = (h: Harness, pattern: RegExp, name = "snap") =>
  h.until(
    `error ${pattern}`,
    async () => pattern.test((await snapshotOf(h, name)).status?.error?.message ?? ""),
    () => snapshotOf(h, name),
  );

export const snapshotGone = (h: Harness, name = "snap") =>
  h.until(
    `${name} is gone`,
    async () => (await h.find(VolumeSnapshots, name, "default")) === undefined,
    () => snapshotOf(h, name),
  );

export const contents = async (h: Harness) => (await h.store.list(VolumeSnapshotContents)).items;

export const remove = (h: Harness, name = "snap") => h.store.delete(VolumeSnapshots, { name, namespace: NS });

export const claimFinalizers = async (h: Harness) =>
  (await h.find(PersistentVolumeClaims, "src", "default"))?.metadata.finalizers ?? [];
