import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  type ConfigMap,
  ConfigMaps,
  Events,
  LocalStore,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  StatusError,
  silentLogger,
} from "@mooring/store";
import type { CreateVolumeArguments, Intent } from "../common/create-volume/intent.ts";
import { recordFor } from "../common/create-volume/record.ts";
import type { Capability } from "../csi/capability.ts";
import type { Driver } from "../csi/driver.ts";
import { Cluster } from "../kube/cluster.ts";
import type { SidecarOptions } from "../options.ts";
import { Calls } from "../testing/calls.ts";
import { startHarness, until } from "../testing/harness.ts";
import { DRIVER, driverInfo } from "../testing/objects.ts";
import { testRegistry } from "../testing/registry.ts";
import { Journal } from "./journal.ts";

const namespace = "kube-system";
const intent = (uid: string, name = `pvc-${uid}`): Intent => ({
  driver: DRIVER,
  claim: { namespace: "work", name: uid, uid },
  arguments: { name, capacityRange: { requiredBytes: "1" }, volumeCapabilities: [], parameters: {} },
  volume: {
    accessModes: [],
    reclaimPolicy: "Delete",
    storageClassName: "fast",
    volumeMode: "Filesystem",
    secretRefs: {},
  },
});

/** A store, and lives that follow each other on it. */
async function world(t: TestContext) {
  const folder = await mkdtemp(join(tmpdir(), "mooring-journal-"));
  const store = await LocalStore.open({ path: folder, registry: testRegistry() });
  const lives: { end(): Promise<void> }[] = [];
  t.after(async () => {
    await Promise.all(lives.map((life) => life.end()));
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  const begin = async (through: ObjectStore = store) => {
    const life = new AbortController();
    const scope = { driver: DRIVER, namespace, logger: silentLogger };
    const cluster = new Cluster(through, scope, life.signal);
    const driver = { info: driverInfo(["CREATE_DELETE_VOLUME"]) } as unknown as Driver;
    const journal = new Journal({
      here: undefined,
      cluster,
      driver,
      logger: silentLogger,
      namespace,
      store: through,
    });
    const { records } = cluster;
    await records.informer.synced(life.signal);
    const end = async () => {
      life.abort();
      await cluster.done;
    };
    lives.push({ end });
    return { journal, find: (uid: string) => journal.find(cluster, uid), end };
  };
  /** UIDs in each record that is stored. */
  const stored = async () =>
    (await store.list(ConfigMaps, { namespace })).items.map(({ data }) => Object.keys(data ?? {}).sort());
  return { store, begin, stored };
}

test("intents that come together are one object, which goes with the last of them", async (t) => {
  const w = await world(t);
  const { journal, find } = await w.begin();
  await Promise.all(["a", "b"].map((uid) => journal.record(intent(uid))));
  assert.deepEqual(await w.stored(), [["a", "b"]]);
  assert.deepEqual(find("a"), intent("a"));
  journal.settle("a");
  assert.equal(find("a"), undefined);
  assert.deepEqual(journal.open(), ["b"]);
  journal.settle("b");
  await journal.flush();
  assert.deepEqual(await w.stored(), []);
});

test("what is settled is dropped also when others stay open, and another life finds those", async (t) => {
  const w = await world(t);
  const first = await w.begin();
  await Promise.all(["a", "b", "c"].map((uid) => first.journal.record(intent(uid))));
  first.journal.settle("a");
  first.journal.settle("c");
  await until("they are dropped", async () => (await w.stored())[0]?.length === 1);
  await first.end();
  const second = await w.begin();
  assert.deepEqual(second.journal.open(), ["b"]);
  assert.deepEqual(second.find("b"), intent("b"));
});

test("an attempt that is over is out of the store before the next one of its claim is in it", async (t) => {
  const w = await world(t);
  const { journal, find } = await w.begin();
  await Promise.all(["a", "b"].map((uid) => journal.record(intent(uid))));
  journal.settle("a");
  await journal.record(intent("a", "another"));
  assert.deepEqual((await w.stored()).sort(), [["a"], ["b"]]);
  assert.equal(find("a")?.arguments.name, "another");
});

test("a write whose response is lost is repeated until it is certain, as the same object", async (t) => {
  const w = await world(t);
  let lost = 0;
  const through = new Proxy(w.store, {
    get(target, name) {
      if (name === "create")
        return async (...args: Parameters<LocalStore["create"]>) => {
          // Written and not known; not written; and then with a response.
          lost += 1;
          if (lost !== 2) await target.create(...args);
          if (lost < 3) throw new Error("connection reset");
        };
      const member: unknown = Reflect.get(target, name, target);
      return typeof member === "function" ? member.bind(target) : member;
    },
  });
  const { journal, find } = await w.begin(through);
  await journal.record(intent("a"));
  assert.deepEqual(find("a"), intent("a"));
  assert.deepEqual(await w.stored(), [["a"]]);
  assert.equal(lost, 3);
});

test("a refusal reaches every claim of the record, and leaves nothing", async (t) => {
  const w = await world(t);
  const { journal } = await w.begin();
  const { create } = w.store;
  w.store.create = () => Promise.reject(new StatusError("Forbidden", "configmaps is forbidden"));
  const both = await Promise.allSettled(["a", "b"].map((uid) => journal.record(intent(uid))));
  assert.deepEqual(
    both.map((each) => each.status === "rejected" && each.reason.message),
    Array(2).fill("configmaps is forbidden"),
  );
  w.store.create = create;
  await journal.record(intent("a"));
  assert.deepEqual(await w.stored(), [["a"]]);
});

test("a record has the names that the version before knows, and is read by those and by CSI's", async (t) => {
  const rest = { parameters: { tier: "gold" }, mutableParameters: { iops: "9" } };
  const capabilities: Capability[] = [
    { mode: "SINGLE_NODE_WRITER", mount: { fsType: "xfs", mountFlags: [] } },
  ];
  const [source, topology] = [
    { snapshotId: "s" },
    { requisite: [{ zone: "a" }], preferred: [{ zone: "a" }] },
  ];
  const earlier = { name: "pvc", requiredBytes: "1", capabilities, ...rest, source, topology };
  const bySpecification: CreateVolumeArguments = {
    name: "pvc",
    ...{ capacityRange: { requiredBytes: "1" }, volumeCapabilities: capabilities, ...rest },
    ...{ volumeContentSource: source, accessibilityRequirements: topology },
  };
  const full = (uid: string): Intent => ({ ...intent(uid), arguments: bySpecification });
  const w = await world(t);
  const { journal, find } = await w.begin();
  await journal.record(full("ours"));
  const [ours] = (await w.store.list(ConfigMaps, { namespace })).items;
  assert.deepEqual(JSON.parse(ours?.data?.["ours"] ?? ""), { ...full("ours"), arguments: earlier });
  assert.deepEqual(find("ours"), full("ours"));

  // What the version before has written, and what the next one may write.
  for (const [uid, stored] of Object.entries({ before: earlier, next: bySpecification })) {
    const data = { [uid]: JSON.stringify({ ...full(uid), arguments: stored }) };
    await w.store.create(ConfigMaps, { ...recordFor([], { driver: DRIVER, suffix: uid, namespace }), data });
    await until(`${uid} to be read`, () => find(uid));
    assert.deepEqual(find(uid), full(uid));
    // An equal request keeps its back-off, whoever has recorded it.
    assert.equal(JSON.stringify(find(uid)), JSON.stringify(full(uid)));
  }
});

test("a record of an earlier version, which has one intent, is one of these", async (t) => {
  const w = await world(t);
  const { data: _, ...record } = recordFor([], { driver: DRIVER, suffix: "a", namespace });
  const old: ConfigMap = { ...record, immutable: true, data: { intent: JSON.stringify(intent("a")) } };
  await w.store.create(ConfigMaps, old);
  const { journal, find } = await w.begin();
  assert.deepEqual(journal.open(), ["a"]);
  assert.deepEqual(find("a"), intent("a"));
  journal.settle("a");
  await journal.flush();
  assert.deepEqual(await w.stored(), []);
});

test("many claims at once: a PersistentVolume and an event each, few records, and nothing is read", async (t) => {
  const COUNT = 60;
  const calls = new Calls();
  const sidecars: Partial<SidecarOptions> = {};
  const h = await startHarness(t, { sidecars });
  sidecars.store = calls.counted(h.store);
  await h.stop();
  const claims = Array.from({ length: COUNT }, (_, index) => ({
    apiVersion: "v1",
    kind: "PersistentVolumeClaim",
    metadata: { name: `c${index}`, namespace: "default" },
    spec: {
      storageClassName: "fast",
      accessModes: ["ReadWriteOnce"],
      resources: { requests: { storage: "1Gi" } },
    },
  }));
  for (const claim of claims) await h.store.create(PersistentVolumeClaims, claim);
  await h.restart();
  await h.until("all have volumes, and no record is left", async () => {
    const volumes = (await h.store.list(PersistentVolumes)).items.length;
    return volumes === COUNT && (await h.store.list(ConfigMaps)).items.length === 0;
  });
  await calls.quiet();
  const { table, writes } = calls.take();
  t.diagnostic(table);
  assert.match(table, new RegExp(`\\b${COUNT} create persistentvolumes\\b`));
  assert.doesNotMatch(table, /\bget /);
  assert.ok(writes <= 2 * COUNT, table);
  await h.stop();
  const { items } = await h.store.list(Events);
  assert.equal(items.filter(({ reason }) => reason === "ProvisioningSucceeded").length, COUNT);
});
