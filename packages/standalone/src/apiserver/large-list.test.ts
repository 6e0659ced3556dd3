import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { type ConfigMap, ConfigMaps } from "@mooring/store";
import { startTestServer, type TestServer } from "./testing/test-server.ts";

const COUNT = 10_000;
const PATH = "/api/v1/namespaces/default/configmaps";
let server: TestServer;

const configMap = (name: string): ConfigMap => ({
  apiVersion: "v1",
  kind: "ConfigMap",
  metadata: { namespace: "default", name, labels: { large: "yes" } },
  data: { text: "x".repeat(500) },
});

before(async () => {
  server = await startTestServer();
  for (let at = 0; at < COUNT; at += 500) {
    const batch = Array.from({ length: 500 }, (_, i) =>
      configMap(`large-${String(at + i).padStart(5, "0")}`),
    );
    await Promise.all(batch.map((object) => server.store.create(ConfigMaps, object)));
  }
});
after(() => server.stop());

test("a reader that stops in the middle of a large list stalls no watcher, and gets one picture", async () => {
  const { http, store } = server;
  const list = await http.open(`${PATH}?labelSelector=large%3Dyes`);
  const chunks: Buffer[] = [];
  list.on("data", (chunk: Buffer) => chunks.push(chunk));
  await once(list, "data");
  list.pause();
  const watch = http.watch(
    `${PATH}?watch=1&labelSelector=large%3Dyes&resourceVersion=${store.resourceVersion}`,
  );
  const heard = watch.next();
  await store.create(ConfigMaps, configMap("made-meanwhile"));
  await store.delete(ConfigMaps, { namespace: "default", name: "large-09999" });
  assert.equal((await heard).value?.object.metadata.name, "made-meanwhile");
  assert.equal((await http.get(`${PATH}/made-meanwhile`)).status, 200);
  await watch.return();
  assert.equal(list.readableEnded, false, "the list is still under way");
  list.resume();
  await once(list, "end");
  const { items, metadata } = JSON.parse(Buffer.concat(chunks).toString("utf8"));
  assert.equal(items.length, COUNT);
  assert.equal(items.at(-1).metadata.name, "large-09999");
  assert.ok(Number(metadata.resourceVersion) < Number(store.resourceVersion));
});

test("readers that leave in the middle of a large list leave nothing behind", async () => {
  for (let round = 0; round < 20; round++) {
    const list = await server.http.open(PATH);
    await once(list, "data");
    list.destroy();
  }
  const { json } = await server.http.get(`${PATH}?limit=1`);
  assert.ok(json.metadata.remainingItemCount >= COUNT - 1);
});

test("large responses are compressed for those who can read that", async () => {
  const plain = await server.http.get(PATH);
  const zipped = await server.http.open(PATH, { headers: { "accept-encoding": "gzip" } });
  let size = 0;
  for await (const chunk of zipped) size += (chunk as Buffer).length;
  assert.equal(zipped.headers["content-encoding"], "gzip");
  assert.ok(size * 5 < plain.text.length);
});
