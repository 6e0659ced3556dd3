import assert from "node:assert/strict";
import { test } from "node:test";
import { Events, type Event as KubeEvent } from "../kinds/kubernetes.ts";
import { ResourceRegistry } from "../local/registry.ts";
import { namespaceTerminating } from "../object/errors.ts";
import type { KubeObject } from "../object/meta.ts";
import type { Resource } from "../object/resource.ts";
import { StatusError } from "../object/status-error.ts";
import { RestStore } from "../rest/rest-store.ts";
import { silentLogger } from "../runtime/logger.ts";
import { openStore } from "../testing/open-store.ts";
import { startTestApiServer } from "../testing/test-api-server.ts";
import { EventRecorder, type EventSubject } from "./event-recorder.ts";
import { startEventExpiry } from "./expire-events.ts";
import { waitFor } from "./wait-for.ts";

const registry = () =>
  new ResourceRegistry([{ resource: Events, hasStatus: false, strategy: { selectableFields } }]);
const selectableFields = (event: KubeObject) => ({ reason: String((event as KubeEvent).reason ?? "") });
const subject: EventSubject = {
  apiVersion: "v1",
  kind: "PersistentVolumeClaim",
  metadata: { name: "data", namespace: "work", uid: "u-1" },
};

test("the same event again raises its count, also in another process", async (t) => {
  const store = await openStore(t, { registry: registry() });
  let now = Date.parse("2030-01-01T00:00:00Z");
  const recorder = () =>
    new EventRecorder(store, { component: "csi.mooring.dev", host: "n1", clock: () => now });
  const first = recorder();
  for (let i = 0; i < 5; i++) first.event(subject, "Warning", "ProvisioningFailed", "the pool is full");
  await first.flush();
  now += 60_000;
  const second = recorder();
  second.event(subject, "Warning", "ProvisioningFailed", "the pool is full");
  second.event(subject, "Normal", "Provisioned", "done");
  await second.flush();
  const { items } = await store.list(Events, { namespace: "work" });
  const failed = items.find(({ reason }) => reason === "ProvisioningFailed");
  assert.equal(items.length, 2);
  assert.equal(failed?.count, 6);
  assert.deepEqual(
    [failed?.firstTimestamp, failed?.lastTimestamp],
    ["2030-01-01T00:00:00Z", "2030-01-01T00:01:00Z"],
  );
  assert.deepEqual(failed?.source, { component: "csi.mooring.dev", host: "n1" });
  assert.equal(failed?.involvedObject.uid, "u-1");
});

test("an event has a name that Kubernetes takes, however long and whatever that of its object", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const recorder = new EventRecorder(store, { component: "csi.mooring.dev" });
  const name = `${"a".repeat(235)}-${"b".repeat(10)}`;
  recorder.event(
    { ...subject, metadata: { name, namespace: "work", uid: "u-2" } },
    "Normal",
    "Provisioned",
    "done",
  );
  await recorder.flush();
  const [event] = (await store.list(Events, { namespace: "work" })).items;
  assert.match(
    event?.metadata.name ?? "",
    /^[a-z0-9]([-a-z0-9]*[a-z0-9])?(\.[a-z0-9]([-a-z0-9]*[a-z0-9])?)*$/,
  );
});

test("an event into a namespace that is ending, or has ended, is no failure, any other refusal is one", async (t) => {
  const warned: string[] = [];
  const logger = { ...silentLogger, warn: (_fields: object, message: string) => void warned.push(message) };
  const refusals = [
    namespaceTerminating(Events, { namespace: "work", name: "data.1" }),
    // Word by word what kube-apiserver says.
    new StatusError("NotFound", 'namespaces "work" not found', { name: "work", kind: "namespaces" }),
    new StatusError("Forbidden", "events is forbidden"),
  ];
  const store = await openStore(t, { registry: registry() });
  store.create = () => Promise.reject(refusals.shift());
  const recorder = new EventRecorder(store, { component: "test", logger });
  for (const _ of ["ending", "ended"]) {
    recorder.event(subject, "Normal", "Deleted", "gone");
    await recorder.flush();
  }
  assert.deepEqual(warned, []);
  recorder.event(subject, "Normal", "Deleted", "gone");
  await recorder.flush();
  assert.deepEqual(warned, ["cannot store an event"]);
});

test("an event costs one request, its repetition one; only an earlier life's is read", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const api = await startTestApiServer(t, store);
  const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" });
  t.after(() => rest.close());
  const report = async (recorder: EventRecorder) => {
    api.requests.length = 0;
    recorder.event(subject, "Warning", "Failed", "the pool is full");
    await recorder.flush();
    return api.requests.map((request) => request.split(" ")[0]);
  };
  const first = new EventRecorder(rest, { component: "test" });
  assert.deepEqual(await report(first), ["POST"]);
  assert.deepEqual(await report(first), ["PATCH"]);
  const [event] = (await store.list(Events)).items;
  await store.delete(Events, { namespace: "work", name: event?.metadata.name ?? "" });
  assert.deepEqual(await report(first), ["PATCH", "POST"]);
  assert.deepEqual(await report(first), ["PATCH"]);
  const second = new EventRecorder(rest, { component: "test" });
  assert.deepEqual(await report(second), ["POST", "GET", "PATCH"]);
  assert.deepEqual(await report(second), ["PATCH"]);
  assert.deepEqual(
    (await store.list(Events)).items.map(({ count }) => count),
    [6],
  );
});

test("messages that differ every time end in one event, written less and less often", async (t) => {
  let now = Date.parse("2030-01-01T00:00:00Z");
  const store = await openStore(t, { registry: registry() });
  const api = await startTestApiServer(t, store);
  const rest = new RestStore({ server: api.url, tls: {}, namespace: "default" });
  t.after(() => rest.close());
  const recorder = new EventRecorder(rest, { component: "test", clock: () => now });
  const fail = async (times: number, what: string) => {
    for (let i = 0; i < times; i++) {
      recorder.event(subject, "Warning", "Failed", `${what} ${i} failed`);
      await recorder.flush();
    }
    const { items } = await store.list(Events);
    return { items, combined: items.find(({ message }) => message?.startsWith("(combined")) };
  };
  const burst = await fail(100, "request");
  assert.equal(burst.items.length, 11);
  assert.equal(burst.combined?.message, "(combined from similar events): request 24 failed");
  assert.equal(api.requests.length, 25);
  now += 300_000;
  const later = await fail(2, "later request");
  assert.equal(api.requests.length, 26);
  assert.equal(later.combined?.count, 91);
  assert.match(later.combined?.message ?? "", /later request 0 failed$/);
  recorder.event(subject, "Normal", "Succeeded", "done");
  await recorder.flush();
  assert.equal((await store.list(Events)).items.length, 12, "what is new is never left out");
});

test("a cluster-scoped object's events are in the namespace default; long names and messages fit", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const recorder = new EventRecorder(store, { component: "test" });
  const name = "n".repeat(253);
  recorder.event({ ...subject, metadata: { name } }, "Normal", "Seen", "m".repeat(5_000));
  await recorder.flush();
  const [event] = (await store.list(Events, { namespace: "default" })).items;
  assert.equal(event?.message?.length, 1024);
  assert.equal(event?.involvedObject.name, name);
});

test("events go an hour after their last repetition", async (t) => {
  let now = Date.parse("2030-01-01T00:00:00Z");
  const clock = () => now;
  const store = await openStore(t, { registry: registry(), clock });
  const recorder = new EventRecorder(store, { component: "test", clock });
  for (const reason of ["Old", "Repeated"]) recorder.event(subject, "Normal", reason, "hello");
  await recorder.flush();
  now += 3_000_000;
  recorder.event(subject, "Normal", "Repeated", "hello");
  await recorder.flush();
  now += 1_000_000;
  const stop = new AbortController();
  const expiry = startEventExpiry({ store, clock, signal: stop.signal });
  await waitFor(
    store,
    {
      resource: Events,
      key: {
        namespace: "work",
        name: (await store.list(Events, { fieldSelector: "reason=Old" })).items[0]?.metadata.name ?? "",
      },
    },
    (event) => event === undefined,
    AbortSignal.timeout(60_000),
  );
  stop.abort();
  await expiry.done;
  assert.deepEqual(
    (await store.list(Events)).items.map(({ reason }) => reason),
    ["Repeated"],
  );
});

test("a store that refuses events disturbs nobody", async (t) => {
  const store = await openStore(t, { registry: new ResourceRegistry() });
  const recorder = new EventRecorder(store, { component: "test" });
  recorder.event(subject, "Normal", "Seen", "hello");
  await recorder.flush();
});

test("of many events at once two are being written, so that the objects that they are about come first", async (t) => {
  const store = await openStore(t, { registry: registry() });
  const create = store.create.bind(store);
  let [now, most] = [0, 0];
  store.create = async <T extends KubeObject>(resource: Resource<T>, object: T): Promise<T> => {
    most = Math.max(most, ++now);
    await new Promise((next) => setImmediate(next));
    return create(resource, object).finally(() => now--);
  };
  const recorder = new EventRecorder(store, { component: "csi.mooring.dev" });
  for (let index = 0; index < 40; index++) recorder.event(subject, "Normal", `Reason${index}`, "done");
  await recorder.flush();
  assert.equal(most, 2);
  assert.equal((await store.list(Events, { namespace: "work" })).items.length, 40);
});
