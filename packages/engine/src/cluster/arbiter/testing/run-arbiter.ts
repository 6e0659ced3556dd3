import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import {
  Events,
  KubeVolumeAttachments,
  LocalStore,
  mutate,
  type ObjectMeta,
  type ObjectStore,
  PersistentVolumes,
  ResourceRegistry,
  silentLogger,
  waitFor,
} from "@mooring/store";
import { endAtRest } from "@mooring/store/testing";
import { type VolumeAttachment, VolumeAttachments } from "../../../api/attachment.ts";
import { DRIVER_NAME, MOORING_API_VERSION } from "../../../api/names.ts";
import { NodeAgents } from "../../../api/node-agent.ts";
import { Pools } from "../../../api/pool.ts";
import { ShareManagers } from "../../../api/share-manager.ts";
import { type Volume, type VolumeStatus, Volumes } from "../../../api/volume.ts";
import { csiTicketId } from "../../../tickets/kubernetes-claim.ts";
import { ownerKinds } from "../../../tickets/owners.ts";
import { startArbiter } from "../index.ts";

const KINDS = new Set([
  Volumes,
  VolumeAttachments,
  NodeAgents,
  Pools,
  ShareManagers,
  PersistentVolumes,
  ...Object.values(ownerKinds(true)),
]);

export interface ArbiterWorld {
  store: LocalStore;
  until: ReturnType<typeof waiter>;
  /** Starts an arbiter on another view of the store, or again; resolves with how to stop it. */
  start(on?: ObjectStore): Promise<() => Promise<void>>;
}

/** A store with nodes a and b. */
export async function withStore(
  body: (world: ArbiterWorld) => Promise<void>,
  kubernetes = false,
): Promise<void> {
  const path = await mkdtemp(join(tmpdir(), "mooring-arbiter-"));
  const registry = new ResourceRegistry([
    ...[...KINDS].map((resource) => ({ resource, hasStatus: true })),
    { resource: Events, hasStatus: false },
  ]);
  const store = await LocalStore.open({ path, registry });
  const stops: (() => Promise<void>)[] = [];
  try {
    for (const name of ["a", "b"]) {
      const agent = await store.create(NodeAgents, object("NodeAgent", name, {}));
      await store.updateStatus(NodeAgents, { ...agent, status: { state: "Ready" } });
    }
    const start = async (on: ObjectStore = store) => {
      const abort = new AbortController();
      const { done } = await startArbiter({
        store: on,
        logger: silentLogger,
        kubernetes,
        signal: abort.signal,
      });
      const stop = async () => {
        abort.abort();
        await done;
      };
      stops.push(stop);
      return stop;
    };
    await body({ store, until: waiter(store), start });
  } finally {
    await endAtRest(async () => {
      await Promise.all(stops.map((stop) => stop()));
      await store.close();
      await rm(path, { recursive: true });
    });
  }
}

/** The same with a running arbiter, and one detached volume, `v-1`. */
export function withArbiter(body: (world: ArbiterWorld) => Promise<void>, kubernetes = false): Promise<void> {
  return withStore(async (world) => {
    await world.start();
    await createVolume(world.store);
    await body(world);
  }, kubernetes);
}

export function object<S>(kind: string, name: string, spec: S) {
  return { apiVersion: MOORING_API_VERSION, kind, metadata: { name } as ObjectMeta, spec };
}

export async function createVolume(
  store: ObjectStore,
  name = "v-1",
  on = "",
  lastAttachedBy = "",
): Promise<Volume> {
  const spec = { size: 4096, pool: "p", volumeMode: "Filesystem" as const, accessMode: "rwo" };
  const placed = on === "" ? {} : { nodeID: on, lastAttachedBy };
  const volume = await store.create(Volumes, object("Volume", name, { ...spec, ...placed }));
  const status: VolumeStatus = on === "" ? { state: "detached" } : { state: "attached", currentNodeID: on };
  return store.updateStatus(Volumes, { ...volume, status });
}

/** What Kubernetes has of a volume that a Pod on that node uses. */
export async function createKubernetesAttachment(
  store: ObjectStore,
  volume: string,
  nodeName: string,
  { attached = true, name = csiTicketId(volume, nodeName) } = {},
): Promise<void> {
  const csi = { driver: DRIVER_NAME, volumeHandle: volume };
  const pv = {
    apiVersion: "v1",
    kind: "PersistentVolume",
    metadata: { name: `pv-${volume}` },
    spec: { csi },
  };
  await store.create(PersistentVolumes, pv).catch(() => {});
  const source = { persistentVolumeName: `pv-${volume}` };
  const created = await store.create(KubeVolumeAttachments, {
    apiVersion: "storage.k8s.io/v1",
    kind: "VolumeAttachment",
    metadata: { name, finalizers: ["external-attacher/csi-mooring-dev"] },
    spec: { attacher: DRIVER_NAME, nodeName, source },
  });
  await store.updateStatus(KubeVolumeAttachments, { ...created, status: { attached } });
}

/** The attacher's part of a detach: asks for it, and lets the object go. */
export async function removeKubernetesAttachment(store: ObjectStore, name: string): Promise<void> {
  await store.delete(KubeVolumeAttachments, { name });
  await mutate(store, KubeVolumeAttachments, { name }, (attachment) => {
    attachment.metadata.finalizers = [];
  });
}

function waiter(store: LocalStore) {
  const deadline = () => AbortSignal.timeout(60_000);
  return {
    volume: (matches: (volume: Volume) => boolean, name = "v-1") =>
      waitFor(store, { resource: Volumes, key: { name } }, (v) => v !== undefined && matches(v), deadline()),
    attachment: (matches: (attachment: VolumeAttachment | undefined) => boolean, name = "v-1") =>
      waitFor(store, { resource: VolumeAttachments, key: { name } }, matches, deadline()),
    event: async (reason: string) => {
      const signal = deadline();
      for await (const { object: event } of store.watch(Events, { signal })) {
        if (event.reason === reason) return event;
      }
      throw new Error(`no event ${reason}`);
    },
  };
}

export function setStatus(store: ObjectStore, status: VolumeStatus, name = "v-1"): Promise<Volume> {
  return mutate(
    store,
    Volumes,
    { name },
    { change: (volume) => ({ ...volume, status }), subresource: "status" },
  );
}
