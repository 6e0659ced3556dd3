import assert from "node:assert/strict";
import { once } from "node:events";
import { after, before, test } from "node:test";
import { ConfigMaps, Events, type KubeObject, type Resource } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { startTestServer, type TestServer } from "../testing/test-server.ts";

const TIMES = 20;
const NAMESPACE = "/api/v1/namespaces/default";
const LARGE = "x".repeat(16_384);
let server: TestServer;

/** Some 16 MiB: more than the buffers of a connection take. */
async function fill(resource: Resource, body: object): Promise<void> {
  for (let at = 0; at < 1_000; at += 100)
    await Promise.all(
      Array.from({ length: 100 }, (_, i) => {
        const metadata = { namespace: "default", name: `large-${at + i}` };
        return server.store.create(resource, { ...body, metadata } as KubeObject);
      }),
    );
}

const nothingOpen = () =>
  eventually("the store's thread has no stream open", () => server.api.streams?.() === 0);

before(async () => {
  server = await startTestServer({ thread: true, controllers: false });
  await fill(ConfigMaps, { apiVersion: "v1", kind: "ConfigMap", data: { text: LARGE } });
  const involvedObject = { kind: "Pod", namespace: "default", name: "p" };
  await fill(Events, { apiVersion: "v1", kind: "Event", involvedObject, reason: "R", message: LARGE });
});
after(() => server.stop());

for (const path of [
  `${NAMESPACE}/configmaps`,
  `${NAMESPACE}/configmaps?limit=900`,
  "/apis/events.k8s.io/v1/namespaces/default/events",
])
  test(`lists of which nobody reads anything leave nothing behind: ${path}`, thorough(), async () => {
    await Promise.all(
      Array.from({ length: TIMES }, async () => {
        const list = await server.http.open(path);
        const closed = once(list, "close");
        list.destroy();
        await closed.catch(() => {});
      }),
    );
    await nothingOpen();
    assert.equal((await server.http.get(`${NAMESPACE}/configmaps/large-1`)).status, 200);
  });
