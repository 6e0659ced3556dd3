import assert from "node:assert/strict";
import {
  ConfigMaps,
  Events,
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
const names = (prefix: string, length: number): string[] =>
  Array.from({ length }, (_, index) => `${prefix}-${index}`);

/** What users of a cluster do, and wait for. */
export class Work {
  readonly #cluster: Cluster;

  constructor(cluster: Cluster) {
    this.#cluster = cluster;
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
    const namespace = resource.namespaced ? { namespace: NAMESPACE } : {};
    await load(objects.length, IN_FLIGHT, (index) =>
      this.#cluster.store.delete(resource, { ...namespace, name: objects[index] ?? "" }),
    );
    await this.#waitFor(`${resource.plural} ${objects[0]} to be gone`, async () => {
      const { items } = await this.#cluster.store.list(resource);
      return items.every(({ metadata }) => !objects.includes(metadata.name));
    });
  }

  /** Deletes everything, and throws when anything is left, of objects or at the driver. */
  async removeAll(): Promise<void> {
    const { store, driver } = this.#cluster;
    for (const resource of [
      KubeVolumeAttachments,
      VolumeGroupSnapshots,
      VolumeSnapshots,
      PersistentVolumeClaims,
    ])
      await this.remove(
        resource as Resource,
        (await store.list(resource as Resource)).items.map(({ metadata }) => metadata.name),
      );
    const kinds = [PersistentVolumes, VolumeSnapshotContents, VolumeGroupSnapshotContents] as Resource[];
    await this.#waitFor("volumes and contents to be gone", async () => {
      const left = await Promise.all(kinds.map((resource) => store.list(resource)));
      return left.every(({ items }) => items.length === 0);
    });
    assert.deepEqual((await driver.controller.listVolumes({})).entries, []);
    assert.deepEqual((await driver.controller.listSnapshots({})).entries, []);
    await this.settled();
  }

  /** No record of an unfinished call is left. */
  settled(): Promise<void> {
    return this.#waitFor("records of calls to be gone", async () => {
      const { items } = await this.#cluster.store.list(ConfigMaps, { namespace: "kube-system" });
      return items.every(({ metadata }) => metadata.labels?.["storage.mooring.dev/record"] === undefined);
    });
  }

  async #create<T extends KubeObject>(
    resource: Resource<T>,
    all: string[],
    object: (name: string, index: number) => KubeObject,
  ): Promise<string[]> {
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

  #waitFor(what: string, isSo: () => Promise<boolean>): Promise<void> {
    const lastSeen = async () => {
      const { items } = await this.#cluster.store.list(Events);
      const warnings = items.filter(({ type }) => type === "Warning");
      return warnings.slice(-10).map(({ reason, message }) => `${reason}: ${message}`);
    };
    return eventually<boolean>(what, isSo, { everyMs: 200, withinMs: 180_000, lastSeen }).then(() => {});
  }
}
