import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import {
  defined,
  getIfAny,
  type KubeObject,
  LocalStore,
  type ObjectKey,
  type ObjectStore,
  type Resource,
  StorageClasses,
} from "@mooring/store";
import { eventually, nothingSleeps } from "@mooring/store/testing";
import type { SidecarOptions } from "../options.ts";
import { type Sidecars, startSidecars } from "../start.ts";
import { runMiniKube } from "./mini-kube.ts";
import { storageClass } from "./objects.ts";
import { testRegistry } from "./registry.ts";
import { ScriptedDriver, type ScriptedDriverOptions } from "./scripted-driver.ts";

/** Everything that a test of controllers needs, on real parts; gone after the test. */
export interface Harness {
  store: LocalStore;
  driver: ScriptedDriver;
  sidecars: Sidecars;
  signal: AbortSignal;
  /** Waits until the probe gives something; fails with what it last saw. */
  until: typeof until;
  /** One object, or undefined. */
  find<T extends KubeObject>(resource: Resource<T>, name: string, namespace?: string): Promise<T | undefined>;
  /** From now on the cluster has the kind. */
  install(resource: Resource): void;
  /** Stops the sidecars. */
  stop(): Promise<void>;
  /** Stops the sidecars and starts new ones that know nothing of before. */
  restart(): Promise<void>;
}

export interface HarnessOptions {
  driver?: ScriptedDriverOptions;
  sidecars?: Partial<SidecarOptions>;
  /** Objects that are there before anything starts. */
  objects?: [Resource, KubeObject][];
  /** Kinds that the cluster does not have. */
  without?: Resource[];
  /** What the sidecars get instead of the store itself: an API server in between. */
  serve?: (store: LocalStore) => Promise<ObjectStore>;
}

const FAST = { startMs: 5, maxMs: 40, infeasibleMs: 60 };

export async function startHarness(t: TestContext, options: HarnessOptions = {}): Promise<Harness> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-sidecars-"));
  const registry = testRegistry();
  for (const resource of options.without ?? []) registry.unregister(resource);
  const store = await LocalStore.open({ path: folder, registry });
  const served = (await options.serve?.(store)) ?? store;
  const driver = await ScriptedDriver.start(options.driver);
  const world = new AbortController();
  let stop = new AbortController();
  const begin = () =>
    startSidecars({
      store: served,
      endpoint: driver.endpoint,
      retry: FAST,
      timeoutMs: 30_000,
      ...options.sidecars,
      signal: stop.signal,
    });
  await store.create(StorageClasses, storageClass());
  for (const [resource, object] of options.objects ?? []) await store.create(resource, object);
  const kube = runMiniKube(store, world.signal);
  let running: Sidecars | undefined;
  t.after(async () => {
    // Whatever the test has done, nothing that is due sleeps through its event.
    const resync = stop.signal.aborted ? undefined : nothingSleeps();
    await resync?.catch(() => {});
    stop.abort();
    world.abort();
    await Promise.allSettled([running?.done, kube]);
    await driver.stop();
    await store.close();
    await rm(folder, { recursive: true, force: true });
    await resync;
  });
  running = await begin();
  const harness: Harness = {
    store,
    driver,
    sidecars: running,
    signal: world.signal,
    until,
    find: (resource, name, namespace) => getIfAny(store, resource, keyFor(name, namespace)),
    install: (resource) => registry.register({ resource, hasStatus: false }),
    stop: async () => {
      stop.abort();
      await running?.done;
    },
    restart: async () => {
      await harness.stop();
      stop = new AbortController();
      running = await begin();
      harness.sidecars = running;
    },
  };
  return harness;
}

const keyFor = (name: string, namespace?: string): ObjectKey =>
  namespace === undefined ? { name } : { namespace, name };

/** {@link eventually}, which also prints what was there last when it was in vain. */
export function until<T>(
  what: string,
  probe: () => Promise<T | undefined | false> | T | undefined | false,
  lastSeen?: () => unknown,
  withinMs?: number,
): Promise<T> {
  return eventually<T | undefined | false>(what, probe, {
    everyMs: 5,
    ...defined({ lastSeen, withinMs }),
  }) as Promise<T>;
}
