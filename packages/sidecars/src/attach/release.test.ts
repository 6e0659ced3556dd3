import assert from "node:assert/strict";
import { test } from "node:test";
import { type PersistentVolume, PersistentVolumes } from "@mooring/store";
import { attacherFinalizer } from "../common/names.ts";
import { startHarness } from "../testing/harness.ts";
import { DRIVER, persistentVolume } from "../testing/objects.ts";

/** What external-attacher tests of PersistentVolumes without attachments (TestCSIHandler, TestProcessFinalizers). */
const OURS = attacherFinalizer(DRIVER);
const THEIRS = attacherFinalizer("x.example.com");

/** `left`: the finalizers in the end; undefined: the volume is gone. */
const ROWS: readonly (readonly [
  title: string,
  volume: { finalizers: string[]; deleted: boolean; driver?: string },
  left: string[] | undefined,
])[] = [
  ["deleted", { finalizers: [OURS], deleted: true }, undefined],
  ["deleted, with others' finalizers", { finalizers: ["a/b", OURS, "c/d"], deleted: true }, ["a/b", "c/d"]],
  ["deleted, without ours", { finalizers: ["a/b"], deleted: true }, ["a/b"]],
  ["not deleted", { finalizers: [OURS], deleted: false }, [OURS]],
  ["not deleted, without any", { finalizers: [], deleted: false }, []],
  ["another driver's", { finalizers: [THEIRS], deleted: true, driver: "x.example.com" }, [THEIRS]],
];

test("which volumes lose the finalizer of the attacher", async (t) => {
  const h = await startHarness(t, { sidecars: { controllers: ["attach"] } });
  const volumes = ROWS.map(([, { finalizers, driver = DRIVER }], index): PersistentVolume => {
    const name = `pv-${index}`;
    const spec = { csi: { driver, volumeHandle: name }, persistentVolumeReclaimPolicy: "Retain" };
    return { ...persistentVolume(name, spec), metadata: { name, finalizers } };
  });
  for (const volume of volumes) await h.store.create(PersistentVolumes, volume);
  for (const [index, [, { deleted }]] of ROWS.entries())
    if (deleted) await h.store.delete(PersistentVolumes, { name: `pv-${index}` });
  const found = () =>
    Promise.all(
      ROWS.map(async (_, index) => {
        const volume = await h.find(PersistentVolumes, `pv-${index}`);
        return volume === undefined ? undefined : (volume.metadata.finalizers ?? []);
      }),
    );
  const settled = JSON.stringify(ROWS.map(([, , left]) => left ?? null));
  await h.until(
    "they have what they are to have",
    async () => JSON.stringify(await found()) === settled,
    found,
  );
  // One that comes later has been seen, so nothing is on its way for those that are to stay.
  const last = { ...persistentVolume("last", { csi: { driver: DRIVER, volumeHandle: "last" } }) };
  await h.store.create(PersistentVolumes, { ...last, metadata: { name: "last", finalizers: [OURS] } });
  await h.store.delete(PersistentVolumes, { name: "last" });
  await h.until("the last one is gone", async () => (await h.find(PersistentVolumes, "last")) === undefined);
  assert.equal(JSON.stringify(await found()), settled);
});
