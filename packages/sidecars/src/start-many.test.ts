import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import {
  CSIDrivers,
  Events,
  getIfAny,
  Leases,
  LocalStore,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  StorageClasses,
} from "@mooring/store";
import { nothingSleeps, thorough } from "@mooring/store/testing";
import { type ManyDrivers, type ManyDriversOptions, startManySidecars } from "./start-many.ts";
import { until } from "./testing/harness.ts";
import { runMiniKube } from "./testing/mini-kube.ts";
import { claim, storageClass } from "./testing/objects.ts";
import { testRegistry } from "./testing/registry.ts";
import { ScriptedDriver, type ScriptedDriverOptions } from "./testing/scripted-driver.ts";

const RETRY = { startMs: 5, maxMs: 40, infeasibleMs: 60 };
const HEALTH = { probeMs: 20, volumesMs: 60_000 };
const driverName = (letter: string) => `${letter}.csi.example.com`;

/** A cluster with a class for each driver, `a` for `a.csi.example.com` and so on; gone after the test. */
class World {
  readonly store: LocalStore;
  readonly drivers: Record<string, ScriptedDriver> = {};
  readonly stop = new AbortController();
  /** How often each kind was watched. */
  readonly watched: Record<string, number> = {};
  readonly #ended: Promise<unknown>[] = [];

  constructor(store: LocalStore) {
    this.store = store;
  }

  static async open(t: TestContext, ...letters: string[]): Promise<World> {
    const path = await mkdtemp(join(tmpdir(), "mooring-many-"));
    const world = new World(await LocalStore.open({ path, registry: testRegistry() }));
    t.after(async () => {
      await world.end();
      await rm(path, { recursive: true, force: true });
    });
    world.#ended.push(runMiniKube(world.store, world.stop.signal));
    for (const letter of letters) await world.driver(letter);
    return world;
  }

  async end(): Promise<void> {
    this.stop.abort();
    await Promise.allSettled(this.#ended);
    await Promise.all(Object.values(this.drivers).map((driver) => driver.stop()));
    await this.store.close();
  }

  /** `options` may be changed later: a driver says what it is whenever it is asked. */
  async driver(letter: string, options: ScriptedDriverOptions = {}): Promise<ScriptedDriver> {
    const name = driverName(letter);
    const driver = await ScriptedDriver.start(Object.assign(options, { name }));
    this.drivers[letter] = driver;
    await this.store.create(StorageClasses, storageClass({ metadata: { name: letter }, provisioner: name }));
    const meta = { apiVersion: "storage.k8s.io/v1", kind: "CSIDriver", metadata: { name } };
    await this.store.create(CSIDrivers, { ...meta, spec: {} });
    return driver;
  }

  start(options: Partial<ManyDriversOptions> = {}): ManyDrivers {
    const many = startManySidecars({
      store: this.#counting(),
      endpoints: Object.values(this.drivers).map(({ endpoint }) => endpoint),
      retry: RETRY,
      health: HEALTH,
      signal: this.stop.signal,
      ...options,
    });
    this.#ended.push(many.done);
    return many;
  }

  async claim(name: string, storageClassName: string): Promise<void> {
    const { metadata: _, ...rest } = claim(name, { storageClassName });
    await this.store.create(PersistentVolumeClaims, { ...rest, metadata: { name, namespace: "default" } });
  }

  async bound(name: string): Promise<void> {
    const key = { namespace: "default", name };
    await until(`${name} is bound`, async () => {
      const found = await this.store.get(PersistentVolumeClaims, key);
      return found.status?.phase === "Bound";
    });
  }

  /** The first event of that reason about the object. */
  event(of: string, reason: string): Promise<string> {
    return until(`${reason} of ${of}`, async () => {
      const { items } = await this.store.list(Events);
      return items.find((event) => event.reason === reason && event.involvedObject?.name === of)?.message;
    });
  }

  #counting(): ObjectStore {
    const { store, watched } = this;
    return new Proxy<ObjectStore>(store, {
      get(target, name) {
        const value = Reflect.get(target, name);
        if (typeof value !== "function") return value;
        return (...args: [{ plural: string }]) => {
          const [resource] = args;
          if (name === "watch") watched[resource.plural] = (watched[resource.plural] ?? 0) + 1;
          return value.apply(target, args);
        };
      },
    });
  }
}

/** The state of one driver, once it is as the test wants it. */
const seen = (many: ManyDrivers, endpoint: string, ready: boolean) =>
  until(
    `${endpoint} is ${ready ? "" : "not "}ready`,
    () => many.drivers().find((driver) => driver.endpoint === endpoint && driver.ready === ready),
    () => many.drivers(),
  );

test("several drivers have one lease, and each kind is watched once", async (t) => {
  const world = await World.open(t, "a", "b", "c");
  const many = world.start({ leaderElection: { retryMs: 20, durationMs: 60_000, renewDeadlineMs: 30_000 } });
  for (const letter of ["a", "b", "c"]) await world.claim(`of-${letter}`, letter);
  for (const letter of ["a", "b", "c"]) await world.bound(`of-${letter}`);
  for (const letter of ["a", "b", "c"]) assert.equal(world.drivers[letter]?.called("CreateVolume"), 1);
  const leases = (await world.store.list(Leases)).items.map(({ metadata }) => metadata.name);
  assert.deepEqual(leases, ["mooring-sidecars"]);
  const ofOneDriver = ["configmaps", "csistoragecapacities"];
  for (const [kind, times] of Object.entries(world.watched))
    assert.equal(times, ofOneDriver.includes(kind) ? 3 : 1, kind);
  assert.deepEqual(
    many.drivers().map(({ name, ready }) => ({ name, ready })),
    ["a", "b", "c"].map((letter) => ({ name: driverName(letter), ready: true })),
  );
  await nothingSleeps();
});

test(
  "the next process takes over all drivers when the first one stops, also one that hangs in a call",
  thorough(),
  async (t) => {
    const world = await World.open(t, "a", "b");
    const leaderElection = { retryMs: 20, durationMs: 60_000, renewDeadlineMs: 30_000 };
    const stop = new AbortController();
    const first = world.start({
      leaderElection: { ...leaderElection, identity: "first" },
      signal: stop.signal,
    });
    await world.claim("one", "a");
    await world.bound("one");
    world.start({ leaderElection: { ...leaderElection, identity: "second" } });
    let respond = () => {};
    world.drivers["b"]?.faults.add({
      method: "CreateVolume",
      until: new Promise<void>((go) => (respond = go)),
    });
    await world.claim("two", "b");
    await until("b is called", () => world.drivers["b"]?.called("CreateVolume") === 1);
    stop.abort();
    await first.done;
    // The lease has not run out: it was given back.
    await until("the second leads", async () => {
      const lease = await getIfAny(world.store, Leases, {
        namespace: "kube-system",
        name: "mooring-sidecars",
      });
      return lease?.spec?.holderIdentity === "second";
    });
    respond();
    await world.claim("three", "a");
    await world.bound("three");
    await world.bound("two");
    assert.equal(world.drivers["b"]?.backend.volumes.size, 1);
  },
);

test("one that hangs and one that is not there hold up nobody, and are reported", async (t) => {
  const world = await World.open(t, "a", "b");
  const { a, b } = world.drivers;
  assert.ok(a && b);
  const never = new Promise<void>(() => {});
  for (const method of ["Probe", "CreateVolume"])
    b.faults.add({ method, until: never, times: Number.POSITIVE_INFINITY });
  const absent = "unix:///nowhere/csi.sock";
  const many = world.start({ endpoints: [b.endpoint, absent, a.endpoint], timeoutMs: 200 });
  await world.claim("of-a", "a");
  await world.bound("of-a");
  for (const endpoint of [b.endpoint, absent])
    assert.match((await seen(many, endpoint, false)).trouble ?? "", /has not responded yet/);
  b.faults.clear();
  await seen(many, b.endpoint, true);
  await world.claim("of-b", "b");
  await world.bound("of-b");
});

test(
  "one that leaves is reported to its claims and on its CSIDriver, and serves again when it comes back changed",
  thorough(),
  async (t) => {
    const can: NonNullable<ScriptedDriverOptions["can"]> = ["CREATE_DELETE_VOLUME"];
    const world = await World.open(t, "a");
    const b = await world.driver("b", { can, expansion: "none" });
    const many = world.start();
    await world.claim("kept", "b");
    await world.bound("kept");
    await b.pause();
    assert.match((await seen(many, b.endpoint, false)).trouble ?? "", /./);
    assert.match(await world.event(driverName("b"), "CSIDriverNotReady"), /does not serve/);
    await world.claim("waiting", "b");
    assert.match(await world.event("waiting", "ProvisioningFailed"), /csi\.sock|UNAVAILABLE|connect/i);
    await world.claim("other", "a");
    await world.bound("other");
    can.push("CREATE_DELETE_SNAPSHOT");
    await b.listen();
    await world.bound("waiting");
    assert.match(await world.event(driverName("b"), "CSIDriverReady"), /again/);
    assert.match(await world.event(driverName("b"), "CSIDriverChanged"), /come back/);
    // Its new controllers read what the others read already.
    assert.equal(world.watched["persistentvolumeclaims"], 1);
    await nothingSleeps();
  },
);

test(
  "one that is removed for good while claims exist: its volumes wait, all others' go",
  thorough(),
  async (t) => {
    const world = await World.open(t, "a", "b");
    const { b } = world.drivers;
    assert.ok(b);
    world.start();
    for (const letter of ["a", "b"]) await world.claim(`of-${letter}`, letter);
    for (const letter of ["a", "b"]) await world.bound(`of-${letter}`);
    await b.pause();
    await world.store.delete(CSIDrivers, { name: driverName("b") });
    for (const letter of ["a", "b"])
      await world.store.delete(PersistentVolumeClaims, { namespace: "default", name: `of-${letter}` });
    const left = await until("only b's volume is left", async () => {
      const { items } = await world.store.list(PersistentVolumes);
      return items.length === 1 && items[0];
    });
    assert.equal(left.spec?.csi?.driver, driverName("b"));
    assert.match(await world.event(left.metadata.name, "VolumeFailedDelete"), /./);
    // Back once more, it may end what it has begun.
    await b.listen();
    await until("none is left", async () => (await world.store.list(PersistentVolumes)).items.length === 0);
    assert.equal(b.backend.volumes.size, 0);
  },
);

test("two sockets of one driver: the second is not called, and it is named", thorough(), async (t) => {
  const world = await World.open(t, "a");
  const twin = await ScriptedDriver.start({ name: driverName("a") });
  t.after(() => twin.stop());
  const { a } = world.drivers;
  assert.ok(a);
  const many = world.start({ endpoints: [a.endpoint] });
  await seen(many, a.endpoint, true);
  const both = world.start({ endpoints: [a.endpoint, twin.endpoint], controllers: ["health"] });
  const trouble = await until(
    "one is refused",
    () => both.drivers().find(({ trouble }) => trouble?.includes("take one of them away"))?.trouble,
  );
  for (const named of [a.endpoint, twin.endpoint, driverName("a")])
    assert.ok(trouble.includes(named), trouble);
  await world.claim("one", "a");
  await world.bound("one");
  assert.equal(twin.called("CreateVolume"), 0);
});

test(
  "a socket behind which another driver comes up gets that one's control plane, and nobody else's ends",
  thorough(),
  async (t) => {
    const world = await World.open(t, "a");
    const options: ScriptedDriverOptions = {};
    const b = await world.driver("b", options);
    const troubles: string[] = [];
    const many = world.start({
      onProgress: (drivers) => void troubles.push(...drivers.flatMap(({ trouble = [] }) => trouble)),
    });
    await seen(many, b.endpoint, true);
    await b.pause();
    await seen(many, b.endpoint, false);
    options.name = driverName("c");
    await world.store.create(
      StorageClasses,
      storageClass({ metadata: { name: "c" }, provisioner: driverName("c") }),
    );
    await b.listen();
    await world.claim("of-c", "c");
    await world.bound("of-c");
    assert.ok(troubles.some((trouble) => trouble.includes(`has become ${driverName("c")}`)));
    await world.claim("of-a", "a");
    await world.bound("of-a");
    assert.equal(world.watched["persistentvolumeclaims"], 1);
  },
);
