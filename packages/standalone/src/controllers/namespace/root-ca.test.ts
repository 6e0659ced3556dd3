import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { ConfigMaps, getIfAny, mutate, Namespaces, silentLogger } from "@mooring/store";
import { endAtRest, eventually } from "@mooring/store/testing";
import { openControllerStore } from "../testing/story-life.ts";
import { ROOT_CA } from "./decide.ts";
import { startNamespaceController } from "./index.ts";

test("the certificate in a namespace is that of now, also when the authority was replaced or a user changed it", async (t) => {
  const path = await mkdtemp(join(tmpdir(), "mooring-namespace-"));
  const { store, kinds } = await openControllerStore(path);
  t.after(async () => {
    await store.close();
    await rm(path, { recursive: true, force: true });
  });
  const key = { namespace: "n", name: ROOT_CA };
  const certificate = async () => (await getIfAny(store, ConfigMaps, key))?.data?.["ca.crt"];
  const becomes = (pem: string) =>
    eventually(`the certificate is ${pem}`, async () => (await certificate()) === pem);
  async function life(caPem: string, work: () => Promise<unknown>): Promise<void> {
    const stop = new AbortController();
    const { signal } = stop;
    const { done } = await startNamespaceController({ store, kinds, caPem, logger: silentLogger, signal });
    await work().finally(() =>
      endAtRest(async () => {
        stop.abort();
        await done;
      }),
    );
  }
  await life("first", async () => {
    await store.create(Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: "n" } });
    await becomes("first");
    await mutate(store, ConfigMaps, key, (found) => ({ ...found, data: { "ca.crt": "forged", mine: "x" } }));
    await becomes("first");
  });
  await life("second", () => becomes("second"));
  assert.equal((await getIfAny(store, ConfigMaps, key))?.data?.["mine"], "x");
});
