import assert from "node:assert/strict";
import { mkdtemp, rm, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { open } from "lmdb";
import { Shelves, shelf, testRegistry, type Widget, Widgets, widget } from "../contract/kinds.ts";
import { defineResource } from "../object/resource.ts";
import { isAlreadyExists, isExpired, isNotFound, isStatus } from "../object/status-error.ts";
import { openStore } from "../testing/open-store.ts";
import { LocalStore } from "./local-store.ts";
import { lockFolder } from "./lock.ts";
import { StoreOpenError } from "./open-error.ts";
import { ResourceRegistry } from "./registry.ts";

async function tempFolder(): Promise<{ folder: string; remove(): Promise<void> }> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  return { folder, remove: () => rm(folder, { recursive: true, force: true }) };
}

test("objects, revisions and watches survive a restart", async (t) => {
  const { folder, remove } = await tempFolder();
  t.after(remove);
  let store = await LocalStore.open({ path: folder, registry: testRegistry() });
  const made = await store.create(Widgets, widget("a", { size: 1 }));
  const changed = await store.update(Widgets, { ...made, spec: { size: 2 } });
  await store.delete(Widgets, { namespace: "default", name: "a" });
  await store.create(Widgets, widget("b"));
  const before = store.resourceVersion;
  await store.close();
  store = await LocalStore.open({ path: folder, registry: testRegistry() });
  t.after(() => store.close());
  assert.equal(store.resourceVersion, before);
  assert.deepEqual(
    (await store.list(Widgets)).items.map(({ metadata }) => metadata.name),
    ["b"],
  );
  const stop = new AbortController();
  const seen: string[] = [];
  const resourceVersion = changed.metadata.resourceVersion ?? "";
  for await (const { type, object } of store.watch(Widgets, { resourceVersion, signal: stop.signal })) {
    seen.push(`${type} ${object.metadata.name}`);
    if (seen.length === 2) stop.abort();
  }
  assert.deepEqual(seen, ["DELETED a", "ADDED b"]);
  const next = await store.create(Shelves, shelf("c"));
  assert.equal(Number(next.metadata.resourceVersion), Number(before) + 1);
});

test("a write that nobody waits for is there with the next one, soon without one, and before the store is closed", async (t) => {
  const { folder, remove } = await tempFolder();
  t.after(remove);
  let store = await LocalStore.open({ path: folder, registry: testRegistry() });
  const create = (name: string, patient: boolean) => store.create(Widgets, widget(name), { patient });
  const names = async () => (await store.list(Widgets)).items.map(({ metadata }) => metadata.name);
  const first = create("a", true);
  await create("b", false);
  assert.deepEqual(await names(), ["a", "b"]);
  // Whoever is refused because of it sees it.
  const third = create("c", true);
  await assert.rejects(create("c", false), isAlreadyExists);
  assert.deepEqual(await names(), ["a", "b", "c"]);
  await create("d", true);
  assert.deepEqual(await names(), ["a", "b", "c", "d"]);
  const last = create("e", true);
  await store.close();
  await Promise.all([first, third, last]);
  store = await LocalStore.open({ path: folder, registry: testRegistry() });
  t.after(() => store.close());
  assert.deepEqual(await names(), ["a", "b", "c", "d", "e"]);
});

test("a version that has left the history is Expired, for watches, lists and their next pages", async (t) => {
  const store = await openStore(t, { history: { events: 10 } });
  for (const name of ["a", "b", "c"]) await store.create(Widgets, widget(name));
  const { continue: next = "", resourceVersion } = await store.list(Widgets, { limit: 1 });
  for (let i = 0; i < 12; i++) await store.create(Widgets, widget(`more-${i}`));
  await assert.rejects(store.list(Widgets, { limit: 1, continue: next }), isExpired);
  await assert.rejects(store.list(Widgets, { resourceVersion, resourceVersionMatch: "Exact" }), isExpired);
  const watching = store.watch(Widgets, { resourceVersion, signal: AbortSignal.timeout(60_000) });
  await assert.rejects(watching.next(), (error) => isExpired(error) && error.code === 410);
});

test("a watch of a quiet kind stays valid however much happens to others", async (t) => {
  const store = await openStore(t, { history: { events: 10 } });
  const { resourceVersion } = await store.list(Shelves);
  for (let i = 0; i < 50; i++) await store.create(Widgets, widget(`noise-${i}`));
  await store.create(Shelves, shelf("a"));
  const watching = store.watch(Shelves, { resourceVersion, signal: AbortSignal.timeout(60_000) });
  const first = await watching.next();
  assert.equal(first.value?.object.metadata.name, "a");
  await watching.return();
});

test("a watcher that does not read stalls nobody; it learns of its loss when it reads", async (t) => {
  const store = await openStore(t, { history: { events: 100 } });
  const stop = new AbortController();
  const slow = store.watch(Widgets, { signal: stop.signal });
  const first = slow.next();
  await store.create(Widgets, widget("first"));
  await first;
  await Promise.all(Array.from({ length: 500 }, (_, i) => store.create(Widgets, widget(`w-${i}`))));
  await store.create(Widgets, widget("last"));
  await assert.rejects(async () => {
    for await (const _ of slow);
  }, isExpired);
});

test("a second process that opens the folder learns who has it", async (t) => {
  const { folder, remove } = await tempFolder();
  t.after(remove);
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  await assert.rejects(LocalStore.open({ path: folder, registry: testRegistry() }), (error) => {
    assert.ok(error instanceof StoreOpenError);
    assert.equal(error.reason, "Locked");
    assert.equal(error.pid, process.pid);
    assert.match(error.message, new RegExp(`in use by process ${process.pid}`));
    return true;
  });
  await store.close();
  const again = await LocalStore.open({ path: folder, registry: testRegistry() });
  await again.close();
});

test("a folder with the inode of one removed while it was locked is free", async (t) => {
  const removed = await tempFolder();
  const { ino } = await stat(removed.folder);
  // As a node's agent does, which keeps no store in it.
  t.after(await lockFolder(removed.folder));
  await removed.remove();
  // ext4 gives the inode to one of the next folders.
  for (let made = 0; made < 100; made++) {
    const next = await tempFolder();
    t.after(next.remove);
    if ((await stat(next.folder)).ino !== ino) continue;
    const other = await LocalStore.open({ path: next.folder, registry: testRegistry() });
    return other.close();
  }
  t.skip("the file system of the folder for temporary files gives no inode again");
});

test("files of a newer version are refused and left alone", async (t) => {
  const { folder, remove } = await tempFolder();
  t.after(remove);
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  await store.create(Shelves, shelf("a"));
  await store.close();
  const root = open({ path: join(folder, "store.mdb"), overlappingSync: false, maxDbs: 8 });
  const record = root.openDB({ name: "meta", encoding: "json" });
  await record.put("format", 99);
  await record.put("seal", "as it will be then");
  await root.close();
  await assert.rejects(LocalStore.open({ path: folder, registry: testRegistry() }), (error) => {
    assert.ok(error instanceof StoreOpenError && error.reason === "FutureFormat");
    assert.match(error.message, /newer version \(format 99.*upgrade Mooring/);
    return true;
  });
  // The lock has been given back: the next try fails in the same way.
  await assert.rejects(LocalStore.open({ path: folder, registry: testRegistry() }), /format 99/);
});

test("a file that is no database is refused, not mapped", async (t) => {
  const { folder, remove } = await tempFolder();
  t.after(remove);
  await writeFile(join(folder, "store.mdb"), "x".repeat(100_000));
  await assert.rejects(
    LocalStore.open({ path: folder, registry: testRegistry() }),
    (error) => error instanceof StoreOpenError && error.reason === "Damaged",
  );
});

test("a pod-like object stays for its grace period, until it is deleted with none", async (t) => {
  const registry = testRegistry();
  const gracefulDelete = (_: unknown, { gracePeriodSeconds = 30 }) => gracePeriodSeconds;
  registry.register({ resource: Widgets, hasStatus: true, strategy: { gracefulDelete } });
  let now = Date.parse("2030-01-01T00:00:00Z");
  const store = await openStore(t, { registry, clock: () => now });
  const key = { namespace: "default", name: "a" };
  await store.create(Widgets, widget("a"));
  const marked = await store.delete(Widgets, key);
  assert.equal(marked.metadata.deletionGracePeriodSeconds, 30);
  assert.equal(marked.metadata.deletionTimestamp, "2030-01-01T00:00:30Z");
  assert.equal(marked.metadata.generation, 2);
  await store.updateStatus(Widgets, { ...marked, status: { phase: "Stopping" } });
  now += 4_000;
  const shorter = await store.delete(Widgets, key, { gracePeriodSeconds: 5 });
  assert.equal(shorter.metadata.deletionGracePeriodSeconds, 5);
  assert.equal(shorter.metadata.deletionTimestamp, "2030-01-01T00:00:05Z", "counted from the first delete");
  const longer = await store.delete(Widgets, key, { gracePeriodSeconds: 60 });
  assert.equal(longer.metadata.deletionGracePeriodSeconds, 5, "never longer again");
  const over = await store.delete(Widgets, key, { gracePeriodSeconds: 3 });
  assert.equal(over.metadata.deletionGracePeriodSeconds, 1, "three seconds are over");
  assert.equal(over.metadata.deletionTimestamp, "2030-01-01T00:00:04Z");
  await store.delete(Widgets, key, { gracePeriodSeconds: 0 });
  await assert.rejects(store.get(Widgets, key), isNotFound);
});

test("every served version shows the same objects, converted", async (t) => {
  const Old = defineResource<Widget & { spec?: { dimension?: number } }>({
    group: "example.com",
    version: "v1beta1",
    kind: "Widget",
    plural: "widgets",
    namespaced: true,
  });
  const registry = new ResourceRegistry([
    {
      resource: Widgets,
      versions: ["v1", "v1beta1"],
      hasStatus: true,
      strategy: {
        convert(object, version) {
          const { size, dimension, ...spec } = (object["spec"] ?? {}) as Record<string, unknown>;
          const value = size ?? dimension;
          return {
            ...object,
            spec: { ...spec, ...(version === "v1" ? { size: value } : { dimension: value }) },
          };
        },
      },
    },
  ]);
  const store = await openStore(t, { registry });
  const key = { namespace: "default", name: "a" };
  const made = await store.create(Old, {
    ...widget("a"),
    apiVersion: "example.com/v1beta1",
    spec: { dimension: 3 },
  });
  assert.deepEqual([made.apiVersion, made.spec], ["example.com/v1beta1", { dimension: 3 }]);
  assert.deepEqual((await store.get(Widgets, key)).spec, { size: 3 });
  const patched = await store.patch(Old, key, {
    type: "json",
    body: [{ op: "replace", path: "/spec/dimension", value: 4 }],
  });
  assert.deepEqual(patched.spec, { dimension: 4 });
  const [listed] = (await store.list(Widgets)).items;
  assert.deepEqual([listed?.apiVersion, listed?.spec], ["example.com/v1", { size: 4 }]);
  const watching = store.watch(Old, { signal: AbortSignal.timeout(60_000) });
  assert.deepEqual((await watching.next()).value?.object.spec, { dimension: 4 });
  await watching.return();
});

test("a kind that nobody registered is not served", async (t) => {
  const store = await openStore(t);
  const Nothing = defineResource({
    group: "example.com",
    version: "v1",
    kind: "Nothing",
    plural: "nothings",
    namespaced: true,
  });
  await assert.rejects(store.list(Nothing), /the server could not find the requested resource/);
  await assert.rejects(
    store.get({ ...Widgets, version: "v2" }, { namespace: "default", name: "a" }),
    isNotFound,
  );
});

test("hooks run in order: the strategy sees what the server owns, and managers see what the strategy made", async (t) => {
  const calls: string[] = [];
  const registry = new ResourceRegistry([
    {
      resource: Widgets,
      hasStatus: true,
      strategy: {
        create(object) {
          calls.push(`create with uid: ${object.metadata.uid !== undefined}`);
          return { ...object, status: { phase: "New" } };
        },
        update(next, old, { subresource }) {
          calls.push(`update ${subresource ?? "all"} from ${old.metadata.generation}`);
          return next;
        },
        trackManagers(old, next, { manager }) {
          calls.push(`track ${manager}: ${old === undefined ? "new" : "old"}`);
          return next.metadata.managedFields ?? [];
        },
      },
    },
  ]);
  const store = await openStore(t, { registry });
  const made = await store.create(Widgets, widget("a", { size: 1 }), { fieldManager: "me" });
  assert.deepEqual(made.status, { phase: "New" });
  await store.update(Widgets, { ...made, spec: { size: 2 } }, { fieldManager: "you" });
  await store.updateStatus(Widgets, { ...made, metadata: { name: "a", namespace: "default" }, status: {} });
  assert.deepEqual(calls, [
    "create with uid: true",
    "track me: new",
    "update all from 1",
    "track you: old",
    "update status from 2",
  ]);
});

test("odd but legal content comes back as it was", async (t) => {
  const store = await openStore(t);
  const data = JSON.parse('{"__proto__": "x", "é\\u0000\\n": "\\ud83d\\ude00", "": ""}') as Record<
    string,
    string
  >;
  data["long"] = "x".repeat(1_000_000);
  await store.create(Shelves, shelf("a", data));
  const got = await store.get(Shelves, { name: "a" });
  assert.deepEqual(Object.entries(got.data ?? {}), Object.entries(data));
});

test("objects handed out are the caller's own", async (t) => {
  const store = await openStore(t);
  const made = await store.create(Shelves, shelf("a", { k: "v" }));
  made.data = { k: "changed" };
  const got = await store.get(Shelves, { name: "a" });
  assert.deepEqual(got.data, { k: "v" });
});

test("a closed store ends its watches and refuses everything else", async () => {
  const { folder, remove } = await tempFolder();
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  const watching = (async () => {
    for await (const _ of store.watch(Shelves, { signal: new AbortController().signal }));
  })();
  const writing = store.create(Shelves, shelf("a"));
  await store.close();
  await Promise.all([watching, writing]);
  await assert.rejects(store.get(Shelves, { name: "a" }), (error) => isStatus(error, "ServiceUnavailable"));
  await assert.rejects(store.create(Shelves, shelf("b")), (error) => isStatus(error, "ServiceUnavailable"));
  await remove();
});
