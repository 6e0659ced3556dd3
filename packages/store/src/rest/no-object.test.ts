import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { Shelves, shelf } from "../contract/kinds.ts";
import { isStatus } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";
import { startTestApiServer } from "../testing/test-api-server.ts";
import { RestStore } from "./rest-store.ts";

/** What responds to every request with these words, and calls it a success: a proxy, a login page. */
async function responding(t: TestContext, body: string): Promise<RestStore> {
  const api = await startTestApiServer(t, await openStore(t));
  api.intercept = (_request, response) => {
    response.writeHead(200).end(body);
    return true;
  };
  const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" });
  t.after(() => rest.close());
  return rest;
}

const isRefused = (error: unknown) => isStatus(error, "ServiceUnavailable");
const key = { namespace: "default", name: "a" };

for (const body of ["null", "", "[]", "7", "<html>", '{"metadata":']) {
  test(`a successful response of ${JSON.stringify(body)} is an error that names the server, and no object`, async (t) => {
    const rest = await responding(t, body);
    const object = shelf("a");
    const calls = {
      get: () => rest.get(Shelves, key),
      list: () => rest.list(Shelves),
      create: () => rest.create(Shelves, object),
      update: () => rest.update(Shelves, object),
      updateStatus: () => rest.updateStatus(Shelves, object),
      patch: () => rest.patch(Shelves, key, { type: "merge", body: {} }),
      delete: () => rest.delete(Shelves, key),
    };
    for (const [name, call] of Object.entries(calls)) await assert.rejects(call(), isRefused, name);
    await assert.rejects(rest.get(Shelves, key), new RegExp(rest.server));
  });
}

test("a list that is none is an error", async (t) => {
  const rest = await responding(t, '{"metadata":{"resourceVersion":"1"},"items":{}}');
  await assert.rejects(rest.list(Shelves), isRefused);
});

test("an event of an object without metadata ends the watch as a broken connection does", async (t) => {
  const rest = await responding(t, '{"type":"ADDED","object":{"kind":"Shelf","metadata":null}}\n');
  const signal = AbortSignal.timeout(60_000);
  const watching = rest.watch(Shelves, { sendInitialEvents: true, signal });
  await assert.rejects(watching.next(), isRefused);
});
