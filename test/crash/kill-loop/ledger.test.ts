import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { ConfigMaps, LocalStore, ResourceRegistry } from "@mooring/store";
import { Ledger } from "./ledger.ts";

const key = { namespace: "churn", name: "config" };
const object = { apiVersion: "v1", kind: "ConfigMap", metadata: key };

async function openStore(t: TestContext): Promise<LocalStore> {
  const path = await mkdtemp(join(tmpdir(), "mooring-ledger-"));
  const store = await LocalStore.open({
    path,
    registry: new ResourceRegistry([{ resource: ConfigMaps, hasStatus: false }]),
  });
  t.after(async () => {
    await store.close();
    await rm(path, { recursive: true });
  });
  return store;
}

test("after a restore, one from an older copy is evaluated by what was there at its own revision", async (t) => {
  const store = await openStore(t);
  const copyNow = async () => {
    const { metadata } = await store.get(ConfigMaps, key);
    const copy = await openStore(t);
    await copy.create(ConfigMaps, {
      ...object,
      metadata: { ...key, annotations: metadata.annotations ?? {} },
    });
    return { copy, revision: Number(metadata.resourceVersion) };
  };
  const ledger = new Ledger();
  await ledger.create(store, ConfigMaps, object);
  const older = await copyNow();
  await ledger.patch(store, ConfigMaps, key);
  const newer = await copyNow();
  await ledger.patch(store, ConfigMaps, key);

  assert.deepEqual((await ledger.rewind(newer.copy, newer.revision)).wrong, []);
  assert.deepEqual((await ledger.rewind(older.copy, older.revision)).wrong, []);
  assert.equal((await ledger.rewind(newer.copy, older.revision)).wrong.length, 1);
});
