import assert from "node:assert/strict";
import {
  ConfigMaps,
  Events,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "@mooring/store/testing";
import { load } from "../../bench/measure.ts";
import type { Cluster } from "./cluster.ts";

const NAMESPACE = "default";
/** Requests at once. */
const IN_FLIGHT = 16;
const SNAPSHOT = "snapshot.storage.k8s.io";
/** In this order: what is made of something goes before it. */
const ASKED_FOR = [
  ...[KubeVolumeAttachments, VolumeGroupSnapshots, VolumeSnapshots, PersistentVolumeClaims],
] as Resource[];
const names = (prefix: string, length: number): string[] =>
  Array.from({ length }, (_, index) => `${prefix}-${index}`);

/** What users of a cluster do, and wait for. */
export class Work {
  readonly #cluster: Pick<Cluster, "store" | "driver">;
  readonly #signal: AbortSignal | undefined;

  /** `signal`: nothing more is asked or waited for. */
  constructor(cluster: Pick<Cluster, "store" | "driver">, signal?: AbortSignal) {
    this.#cluster = cluster;
    this.#signal = signal;
  }

  /** Asks for claims; `group` labels them, `source` is what each begins as a copy of. */
  claims(
    prefix: string,
    count: number,
    { group = "", source }: { group?: string; source?: (index: number) => object } = {},
  ): Promise<string[]> {
    return this.#create(PersistentVolumeClaims, names(prefix, count), (name, index) => ({
      ...{ apiVersion: "v1", kind: "PersistentVolumeClaim" },
      metadata: { name, namespace: NAMESPACE, labels: { group } },
      spec: {
        ...{ storageClassName: "fast", accessModes: ["ReadWriteOnce"] },
        resources: { requests: { storage: "16Mi" } },
        ...(source === undefined ? {} : { dataSource: source(index) }),
      },
    }));
  }

  snapshots(prefix: string, claims: readonly string[]): Promise<string[]> {
    return this.#create(VolumeSnapshots, names(prefix, claims.length), (name, index) => ({
      ...{ apiVersion: `${SNAPSHOT}/v1`, kind: "VolumeSnapshot", metadata: { name, namespace: NAMESPACE } },
      spec: { volumeSnapshotClassName: "snaps", source: { persistentVolumeClaimName: claims[index] ?? "" } },
    }));
  }

  /** One of the claims with this label. */
  groupSnapshots(groups: readonly string[]): Promise<string[]> {
    return this.#create(VolumeGroupSnapshots, [...groups], (name) => ({
      ...{ apiVersion: "groupsnapshot.storage.k8s.io/v1", kind: "VolumeGroupSnapshot" },
      metadata: { name, namespace: NAMESPACE },
      spec: {
        volumeGroupSnapshotClassName: "groups",
        source: { selector: { matchLabels: { group: name } } },
      },
    }));
  }

  /** New claims that begin as these snapshots. */
  restores(prefix: string, snapshots: readonly string[]): Promise<string[]> {
    const source = (index: number) => ({
      ...{ apiGroup: SNAPSHOT, kind: "VolumeSnapshot" },
      name: snapshots[index] ?? "",
    });
    return this.claims(prefix, snapshots.length, { source });
  }

  /** Has a claim's volume attached to a node. */
  async attached(
    claim: string,
    { attacher, nodeName }: { attacher: string; nodeName: string },
  ): Promise<void> {
    const { store } = this.#cluster;
    const { spec } = await store.get(PersistentVolumeClaims, { namespace: NAMESPACE, name: claim });
    const name = `attachment-${claim}`;
    this.#signal?.throwIfAborted();
    await store.create(KubeVolumeAttachments, {
      ...{ apiVersion: "storage.k8s.io/v1", kind: "VolumeAttachment", metadata: { name } },
      spec: { attacher, nodeName, source: { persistentVolumeName: spec?.volumeName ?? "" } },
    });
    await this.#waitFor(`${claim} to be attached`, async () => {
      const { status } = await store.get(KubeVolumeAttachments, { name });
      return status?.attached === true;
    });
  }

  /** Asks for a larger claim, and waits until it is. */
  async grown(claim: string, storage: string): Promise<void> {
    const [{ store }, key] = [this.#cluster, { namespace: NAMESPACE, name: claim }];
    const body = { spec: { resources: { requests: { storage } } } };
    this.#signal?.throwIfAborted();
    await store.patch(PersistentVolumeClaims, key, { type: "merge", body });
    await this.#waitFor(`${claim} to be larger`, async () => {
      const { status } = await store.get(PersistentVolumeClaims, key);
      return status?.capacity?.["storage"] === storage;
    });
  }

  bound(claims: readonly string[]): Promise<void> {
    return this.#all(PersistentVolumeClaims, claims, ({ status }) => status?.phase === "Bound");
  }

  ready(snapshots: readonly string[]): Promise<void> {
    return this.#all(VolumeSnapshots, snapshots, ({ status }) => status?.readyToUse === true);
  }

  async groupsReady(groups: readonly string[]): Promise<void> {
    await this.#all(VolumeGroupSnapshots, groups, ({ status }) => status?.readyToUse === true);
    await this.ready(await this.membersOf(groups));
  }

  /** Their snapshots. */
  async membersOf(groups: readonly string[]): Promise<string[]> {
    const { items } = await this.#cluster.store.list(VolumeSnapshots, { namespace: NAMESPACE });
    const members = items.filter(({ metadata }) =>
      metadata.ownerReferences?.some(({ name }) => groups.includes(name)),
    );
    return members.map(({ metadata }) => metadata.name);
  }

  async remove<T extends KubeObject>(resource: Resource<T>, objects: readonly string[]): Promise<void> {
    await this.#delete(resource, objects);
    await this.#waitFor(`${resource.plural} ${objects[0]} to be gone`, async () => {
      const { items } = await this.#cluster.store.list(resource);
      return items.every(({ metadata }) => !objects.includes(metadata.name));
    });
  }

  /** Deletes everything, and throws when anything is left, of objects or at the driver. */
  async removeAll(): Promise<void> {
    const { store, driver } = this.#cluster;
    for (const resource of ASKED_FOR) await this.remove(resource, await this.#namesOf(resource));
    const kinds = [PersistentVolumes, VolumeSnapshotContents, VolumeGroupSnapshotContents] as Resource[];
    await this.#waitFor("volumes and contents to be gone", async () => {
      const left = await Promise.all(kinds.map((resource) => store.list(resource)));
      return left.every(({ items }) => items.length === 0);
    });
    // Of a volume that was made and has no object yet only the record of the call knows.
    await this.settled();
    assert.deepEqual((await driver.controller.listVolumes({})).entries, []);
    assert.deepEqual((await driver.controller.listSnapshots({})).entries, []);
  }

  /** Deletes what users have asked for, all of it at once, and waits for nothing. */
  async abandonAll(): Promise<void> {
    for (const resource of ASKED_FOR) await this.#delete(resource, await this.#namesOf(resource));
  }

  /** No record of an unfinished call is left. */
  settled(): Promise<void> {
    return this.#waitFor("records of calls to be gone", async () => {
      const { items } = await this.#cluster.store.list(ConfigMaps, { namespace: "kube-system" });
      return items.every(({ metadata }) => metadata.labels?.["storage.mooring.dev/record"] === undefined);
    });
  }

  async #namesOf(resource: Resource): Promise<string[]> {
    return (await this.#cluster.store.list(resource)).items.map(({ metadata }) => metadata.name);
  }

  /** Members of a group go with it meanwhile. */
  async #delete<T extends KubeObject>(resource: Resource<T>, objects: readonly string[]): Promise<void> {
    const namespace = resource.namespaced ? { namespace: NAMESPACE } : {};
    await load(objects.length, IN_FLIGHT, async (index) => {
      await this.#cluster.store
        .delete(resource, { ...namespace, name: objects[index] ?? "" })
        .catch((error: unknown) => {
          if (!isNotFound(error)) throw error;
        });
    });
  }

  async #create<T extends KubeObject>(
    resource: Resource<T>,
    all: string[],
    object: (name: string, index: number) => KubeObject,
  ): Promise<string[]> {
    this.#signal?.throwIfAborted();
    await load(all.length, IN_FLIGHT, (index) =>
      this.#cluster.store.create(resource, object(all[index] ?? "", index) as T),
    );
    return all;
  }

  async #all<T extends KubeObject>(
    resource: Resource<T>,
    wanted: readonly string[],
    isDone: (object: T) => boolean,
  ): Promise<void> {
    await this.#waitFor(`${resource.plural} ${wanted[0]} and others`, async () => {
      const { items } = await this.#cluster.store.list(resource, { namespace: NAMESPACE });
      const done = new Set(items.filter(isDone).map(({ metadata }) => metadata.name));
      return wanted.every((name) => done.has(name));
    });
  }

  #waitFor(what: string, isIt: () => Promise<boolean>): Promise<void> {
    const isSo = () => {
      this.#signal?.throwIfAborted();
      return isIt();
    };
    const lastSeen = async () => {
      const { items } = await this.#cluster.store.list(Events);
      const warnings = items.filter(({ type }) => type === "Warning");
      return warnings.slice(-10).map(({ reason, message }) => `${reason}: ${message}`);
    };
    return eventually<boolean>(what, isSo, { everyMs: 200, withinMs: 180_000, lastSeen }).then(() => {});
  }
}
