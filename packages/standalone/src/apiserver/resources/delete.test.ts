import assert from "node:assert/strict";
import { test } from "node:test";
import { VolumeAttachments, Volumes } from "@mooring/engine";
import { thorough } from "@mooring/store/testing";
import { bundledCrds, installCrds } from "../../crd/install.ts";
import { startTestServer } from "../testing/test-server.ts";

const API = { apiVersion: "storage.mooring.dev/v1alpha1" };
/** More than are deleted side by side. */
const MANY = 100;

test("a refusal of one of many means that none of them was deleted", thorough(), async () => {
  const { store, http, stop } = await startTestServer();
  try {
    await installCrds(store, await bundledCrds());
    const spec = { size: 4096, pool: "p", volumeMode: "Block" as const, accessMode: "rwo" };
    const volume = { ...API, kind: "Volume", metadata: { name: "v-last" }, spec };
    const { metadata } = await store.create(Volumes, volume);
    const owner = { ...API, kind: "Volume", name: "v-last", uid: metadata.uid ?? "" };
    const attachment = (name: string, ownerReferences: (typeof owner)[] = []) =>
      store.create(VolumeAttachments, {
        ...{ ...API, kind: "VolumeAttachment" },
        metadata: { name, ownerReferences },
        spec: { volume: name },
      });
    for (let i = 0; i < MANY; i++) await attachment(`a-${i}`);
    await attachment("v-last", [owner]);
    const { status, json } = await http.delete("/apis/storage.mooring.dev/v1alpha1/volumeattachments");
    assert.equal(status, 403);
    assert.match(json.message, /stay as long as the volume/);
    assert.equal((await store.list(VolumeAttachments)).items.length, MANY + 1);
  } finally {
    await stop();
  }
});
