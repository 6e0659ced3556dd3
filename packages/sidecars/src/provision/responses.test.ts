import assert from "node:assert/strict";
import { test } from "node:test";
import { PersistentVolumeClaims, PersistentVolumes } from "@mooring/store";
import { startHarness } from "../testing/harness.ts";
import { claim } from "../testing/objects.ts";

test("a driver that does not say how large a volume is has made it as large as was asked for", async (t) => {
  const h = await startHarness(t);
  const { backend } = h.driver;
  const make = backend.createVolume.bind(backend);
  backend.createVolume = (wanted) => make({ ...wanted, bytes: 0n });
  const { uid: _uid, ...metadata } = claim("data").metadata;
  await h.store.create(PersistentVolumeClaims, { ...claim("data"), metadata });
  const volume = await h.until("it is bound", async () => {
    const found = await h.find(PersistentVolumeClaims, "data", "default");
    return found?.status?.phase === "Bound" && h.find(PersistentVolumes, found.spec?.volumeName ?? "");
  });
  assert.deepEqual(volume.spec?.capacity, { storage: "1Gi" });
  assert.equal(h.driver.called("DeleteVolume"), 0);
});
