import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect } from "@mooring/csi";
import { Events, LocalStore, ResourceRegistry, silentLogger } from "@mooring/store";
import { serveDriver } from "./serve.ts";

const HOUR_MS = 3_600_000;
const DEADLINE_MS = 60_000;

test("events of a driver that runs alone go after an hour: its store does not grow for ever", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-driver-"));
  t.after(() => rm(folder, { recursive: true }));
  await putEvent(folder, "old", new Date(Date.now() - 2 * HOUR_MS));
  await putEvent(folder, "new", new Date());
  const deadline = Date.now() + DEADLINE_MS;
  let left = await events(folder);
  assert.deepEqual(left, ["new", "old"]);
  while (left.includes("old") && Date.now() < deadline) {
    await serveOnce(folder);
    left = await events(folder);
  }
  assert.deepEqual(left, ["new"]);
});

/** A driver's whole life, which begins with a read of old events. */
async function serveOnce(folder: string): Promise<void> {
  const stop = new AbortController();
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const { done } = await serveDriver({
    ...{ endpoint, mode: "all", stateDir: join(folder, "state"), nodeID: "node-1" },
    ...{ pool: { type: "directory" }, logger: silentLogger, signal: stop.signal },
  });
  const client = await connect(endpoint, { timeoutMs: 30_000 });
  for (let call = 0; call < 20; call += 1) await client.controller.listVolumes({});
  client.close();
  stop.abort();
  await done;
}

async function inStore<T>(folder: string, work: (store: LocalStore) => Promise<T>): Promise<T> {
  const registry = new ResourceRegistry([{ resource: Events, hasStatus: false }]);
  const store = await LocalStore.open({ path: join(folder, "state", "store"), registry });
  try {
    return await work(store);
  } finally {
    await store.close();
  }
}

const events = (folder: string): Promise<string[]> =>
  inStore(folder, async (store) =>
    (await store.list(Events)).items.map(({ metadata }) => metadata.name).sort(),
  );

async function putEvent(folder: string, name: string, when: Date): Promise<void> {
  const involvedObject = { apiVersion: "v1", kind: "Volume", name: "v" };
  const lastTimestamp = `${when.toISOString().slice(0, 19)}Z`;
  await inStore(folder, (store) =>
    store.create(Events, {
      ...{ apiVersion: "v1", kind: "Event", metadata: { name, namespace: "default" } },
      ...{ involvedObject, reason: "Attached", message: "", type: "Normal", lastTimestamp },
    }),
  );
}
