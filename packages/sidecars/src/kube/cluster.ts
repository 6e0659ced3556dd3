import {
  type ConfigMap,
  ConfigMaps,
  type CSIDriver,
  CSIDrivers,
  type CSINode,
  CSINodes,
  CSIStorageCapacities,
  type CSIStorageCapacity,
  type KubeObject,
  type KubeVolumeAttachment,
  KubeVolumeAttachments,
  keyOf,
  type Logger,
  type Node,
  Nodes,
  type ObjectStore,
  type PersistentVolume,
  type PersistentVolumeClaim,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  type StorageClass,
  StorageClasses,
  type VolumeAttributesClass,
  VolumeAttributesClasses,
  type VolumeGroupSnapshot,
  type VolumeGroupSnapshotClass,
  VolumeGroupSnapshotClasses,
  type VolumeGroupSnapshotContent,
  VolumeGroupSnapshotContents,
  VolumeGroupSnapshots,
  type VolumeSnapshot,
  type VolumeSnapshotClass,
  VolumeSnapshotClasses,
  type VolumeSnapshotContent,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { copiedVolume, copiedVolumes } from "../common/copied-volumes.ts";
import { intentsOf, recordSelector } from "../common/create-volume/record.ts";
import { dataSourceOf } from "../common/data-source.ts";
import { groupOwnerOf } from "../common/group-member.ts";
import { groupOf, groupOfSnapshot } from "../common/group-of.ts";
import { lockOf } from "../common/member-lock.ts";
import { CAPACITY_DRIVER_LABEL, CAPACITY_MANAGER_LABEL, MEMBER_OF_UID } from "../common/names.ts";
import { WANTED_GROUP } from "../common/volume-group-names.ts";
import type { ObjectCache } from "./cache.ts";
import { type CacheOptions, Caches } from "./caches.ts";
import { slotKey, slotOf } from "./capacity-slot.ts";
import {
  type ReferenceGrant,
  ReferenceGrants,
  type VolumePopulator,
  VolumePopulators,
} from "./data-sources.ts";
import { type VolumeGroupClone, VolumeGroupClones } from "./group-clone.ts";
import { type VolumeGroupRestore, VolumeGroupRestores } from "./group-restore.ts";
import {
  type VolumeGroup,
  type VolumeGroupClass,
  VolumeGroupClasses,
  type VolumeGroupContent,
  VolumeGroupContents,
  VolumeGroups,
} from "./volume-group.ts";

const some = (value: string | undefined): string[] => (value ? [value] : []);

/** Of these kinds only the objects of one driver are kept. */
const ONE_DRIVERS: ReadonlySet<Resource> = new Set([ConfigMaps, CSIStorageCapacities] as Resource[]);

interface ClusterScope {
  driver: string;
  /** Where the records and capacities of the driver are. */
  namespace: string;
  /** Of capacities only those that carry this name; absent: all of the driver. */
  capacityManager?: string;
  logger: Logger;
  /** Of kinds that are kept whole, where other drivers have a control plane in this process. */
  shared?: Caches;
}

function capacitySelector({ driver, capacityManager }: ClusterScope): string {
  const ofDriver = `${CAPACITY_DRIVER_LABEL}=${driver}`;
  return capacityManager === undefined
    ? ofDriver
    : `${ofDriver},${CAPACITY_MANAGER_LABEL}=${capacityManager}`;
}

/**
 * One cache per kind, shared by every controller of a driver: a kind of which only the driver's objects are kept has one of its
 * own, all others may be shared with other drivers. Indexes find what controllers would otherwise find by going through everything.
 */
export class Cluster {
  readonly store: ObjectStore;
  readonly scope: ClusterScope;
  readonly signal: AbortSignal;
  /** Made with the first kind: each read has a cluster object of its own, and no caches. */
  #own: Caches | undefined;

  constructor(store: ObjectStore, scope: ClusterScope, signal: AbortSignal) {
    this.store = store;
    this.scope = scope;
    this.signal = signal;
  }

  /** Settles when every watch of its own has ended, after the signal. */
  get done(): Promise<void> {
    return this.#own?.done ?? Promise.resolve();
  }

  get claims(): ObjectCache<PersistentVolumeClaim> {
    return this.cacheOf(PersistentVolumeClaims, () => ({
      indexers: {
        uid: (claim) => some(claim.metadata.uid),
        namespace: (claim) => some(claim.metadata.namespace),
        /** `ns/key=value` and `ns/key` of its labels. */
        label: ({ metadata: { labels = {}, namespace } }) =>
          Object.entries(labels).map(([key, value]) => `${namespace}/${key}=${value}`),
        labelKey: ({ metadata: { labels = {}, namespace } }) =>
          Object.keys(labels).map((key) => `${namespace}/${key}`),
        /** `ns/name` of the VolumeGroup that the claim asks for. */
        wantedGroup: ({ metadata: { annotations, namespace } }) =>
          some(annotations?.[WANTED_GROUP]).map((name) => `${namespace}/${name}`),
        /** UID of the VolumeGroup that has the claim. */
        volumeGroup: (claim) => some(lockOf(claim)?.uid),
        /** Claims without a volume, by data source: `VolumeSnapshot:ns/name`. */
        pendingSource: (claim) => {
          const source = dataSourceOf(claim);
          if (claim.spec?.volumeName || !("name" in source)) return [];
          return [`${source.kind}:${source.namespace}/${source.name}`];
        },
      },
    }));
  }

  get volumes(): ObjectCache<PersistentVolume> {
    return this.cacheOf(PersistentVolumes, () => ({
      indexers: {
        handle: ({ spec }) =>
          spec?.csi === undefined ? [] : [`${spec.csi.driver}:${spec.csi.volumeHandle}`],
        driver: ({ spec }) => some(spec?.csi?.driver),
      },
    }));
  }

  get classes(): ObjectCache<StorageClass> {
    return this.cacheOf(StorageClasses);
  }

  get attributesClasses(): ObjectCache<VolumeAttributesClass> {
    return this.cacheOf(VolumeAttributesClasses);
  }

  get attachments(): ObjectCache<KubeVolumeAttachment> {
    return this.cacheOf(KubeVolumeAttachments, () => ({
      indexers: {
        volume: ({ spec }) => some(spec.source.persistentVolumeName),
      },
    }));
  }

  get nodes(): ObjectCache<Node> {
    // No decision reads the status, which has the names of all images that a node has.
    return this.cacheOf(Nodes, () => ({ keep: ({ status: _, ...node }) => node }));
  }

  get csiDrivers(): ObjectCache<CSIDriver> {
    return this.cacheOf(CSIDrivers);
  }

  get csiNodes(): ObjectCache<CSINode> {
    return this.cacheOf(CSINodes);
  }

  /** Unsettled CreateVolume calls of the driver. */
  get records(): ObjectCache<ConfigMap> {
    return this.cacheOf(ConfigMaps, () => ({
      namespace: this.scope.namespace,
      labelSelector: recordSelector(this.scope.driver),
      indexers: {
        /** UIDs of the claims. */
        uid: (record) => [...intentsOf(record).keys()],
        source: (record) =>
          [...intentsOf(record).values()].flatMap(({ source }) =>
            source === undefined ? [] : [`${source.kind}:${source.namespace}/${source.name}`],
          ),
      },
    }));
  }

  /** Capacity objects of the driver. */
  get capacities(): ObjectCache<CSIStorageCapacity> {
    return this.cacheOf(CSIStorageCapacities, () => ({
      namespace: this.scope.namespace,
      labelSelector: capacitySelector(this.scope),
      /** Class and place; see capacity. */
      indexers: { slot: (object) => [slotKey(slotOf(object))] },
    }));
  }

  get snapshots(): ObjectCache<VolumeSnapshot> {
    return this.cacheOf(VolumeSnapshots, () => ({
      indexers: {
        uid: (snapshot) => some(snapshot.metadata.uid),
        /** `ns/name` of the source claim. */
        claim: ({ metadata, spec }) => {
          const name = spec.source.persistentVolumeClaimName;
          return name ? [keyOf({ metadata: { ...metadata, name } })] : [];
        },
        /** UID of the group snapshot that it is a member of. */
        group: (snapshot) => some(groupOwnerOf(snapshot)?.uid),
        /** `ns/name` of that group snapshot, whichever its UID. */
        groupName: (snapshot) => {
          const owner = groupOwnerOf(snapshot);
          return owner === undefined ? [] : [keyOf({ metadata: { ...snapshot.metadata, name: owner.name } })];
        },
        /** The same, also where only the status has it. */
        memberOf: groupOf,
      },
    }));
  }

  get contents(): ObjectCache<VolumeSnapshotContent> {
    return this.cacheOf(VolumeSnapshotContents, () => ({
      indexers: {
        group: ({ metadata }) => some(metadata.annotations?.[MEMBER_OF_UID]),
        /** Contents that an administrator brought in, by `driver:snapshot handle`. */
        imported: ({ spec }) => some(spec.source.snapshotHandle).map((handle) => `${spec.driver}:${handle}`),
        /** The volume that the driver may be copying right now, by `driver:volume handle`. */
        copied: copiedVolume,
      },
    }));
  }

  get snapshotClasses(): ObjectCache<VolumeSnapshotClass> {
    return this.cacheOf(VolumeSnapshotClasses);
  }

  get groups(): ObjectCache<VolumeGroupSnapshot> {
    return this.cacheOf(VolumeGroupSnapshots, () => ({
      indexers: {
        namespace: ({ metadata }) => some(metadata.namespace),
        /** `ns/name` of the VolumeGroup that it is of. */
        volumeGroup: (group) =>
          some(groupOfSnapshot(group)).map((name) => keyOf({ metadata: { ...group.metadata, name } })),
      },
    }));
  }

  get groupContents(): ObjectCache<VolumeGroupSnapshotContent> {
    return this.cacheOf(VolumeGroupSnapshotContents, () => ({
      indexers: {
        /** Volumes that the driver may be copying right now, by `driver:volume handle`. */
        copied: copiedVolumes,
      },
    }));
  }

  get groupClasses(): ObjectCache<VolumeGroupSnapshotClass> {
    return this.cacheOf(VolumeGroupSnapshotClasses);
  }

  get groupRestores(): ObjectCache<VolumeGroupRestore> {
    return this.cacheOf(VolumeGroupRestores);
  }

  get groupClones(): ObjectCache<VolumeGroupClone> {
    return this.cacheOf(VolumeGroupClones);
  }

  get volumeGroups(): ObjectCache<VolumeGroup> {
    return this.cacheOf(VolumeGroups);
  }

  get volumeGroupContents(): ObjectCache<VolumeGroupContent> {
    return this.cacheOf(VolumeGroupContents);
  }

  get volumeGroupClasses(): ObjectCache<VolumeGroupClass> {
    return this.cacheOf(VolumeGroupClasses);
  }

  get referenceGrants(): ObjectCache<ReferenceGrant> {
    return this.cacheOf(ReferenceGrants, () => ({
      indexers: { namespace: ({ metadata }) => some(metadata.namespace) },
    }));
  }

  get populators(): ObjectCache<VolumePopulator> {
    return this.cacheOf(VolumePopulators, () => ({
      indexers: { sourceKind: ({ sourceKind: { group, kind } }) => [`${kind}.${group}`] },
    }));
  }

  /** The one cache of a kind. `more` is asked again by every driver, and has the same indexers for each. */
  cacheOf<T extends KubeObject>(
    resource: Resource<T>,
    more: () => CacheOptions<T> = () => ({}),
  ): ObjectCache<T> {
    const { shared } = this.scope;
    if (shared !== undefined && !ONE_DRIVERS.has(resource as Resource)) return shared.cacheOf(resource, more);
    this.#own ??= new Caches(this.store, this.scope.logger, this.signal);
    return this.#own.cacheOf(resource, more);
  }
}
