import { CsiError } from "@mooring/csi";

export interface BackendVolume {
  id: string;
  name: string;
  bytes: bigint;
  /** Of everything that a repetition must repeat. */
  fingerprint: string;
  source?: { snapshotId: string } | { volumeId: string };
  topology: Record<string, string>[];
  publishedTo: Set<string>;
  abnormal?: string;
  /** What it was modified with. */
  attributes?: Record<string, string>;
}

export interface BackendSnapshot {
  id: string;
  name: string;
  volumeId: string;
  bytes: bigint;
  /** Polls until it is ready. */
  pendingPolls: number;
  /** The group that it is a member of. */
  groupId?: string;
}

export interface BackendGroup {
  id: string;
  name: string;
  /** In the order of the request. */
  volumeIds: string[];
  snapshotIds: string[];
}

/** A storage system in memory, strict about names: what a driver in front of a real one would see. */
export class Backend {
  readonly volumes = new Map<string, BackendVolume>();
  readonly snapshots = new Map<string, BackendSnapshot>();
  readonly groups = new Map<string, BackendGroup>();
  /** Ids that were given out, so that none comes twice. */
  #next: number;

  /** `firstId`: of the first object that is made. */
  constructor(firstId = 1) {
    this.#next = firstId;
  }

  createVolume(wanted: Omit<BackendVolume, "id" | "publishedTo">): BackendVolume {
    const known = [...this.volumes.values()].find(({ name }) => name === wanted.name);
    if (known !== undefined) {
      if (known.fingerprint === wanted.fingerprint) return known;
      throw CsiError.alreadyExists(`volume ${wanted.name} exists with other arguments`);
    }
    const volume = { ...wanted, id: `vol-${this.#next++}`, publishedTo: new Set<string>() };
    this.volumes.set(volume.id, volume);
    return volume;
  }

  deleteVolume(id: string): void {
    const volume = this.volumes.get(id);
    if (volume !== undefined && volume.publishedTo.size > 0)
      throw CsiError.failedPrecondition(`volume ${id} is published`);
    this.volumes.delete(id);
  }

  volume(id: string): BackendVolume {
    const volume = this.volumes.get(id);
    if (volume === undefined) throw CsiError.notFound(`volume ${id} does not exist`);
    return volume;
  }

  createSnapshot(name: string, volumeId: string, pendingPolls: number): BackendSnapshot {
    const known = [...this.snapshots.values()].find((snapshot) => snapshot.name === name);
    if (known !== undefined) {
      if (known.volumeId !== volumeId) throw CsiError.alreadyExists(`snapshot ${name} is of another volume`);
      if (known.pendingPolls > 0) known.pendingPolls -= 1;
      return known;
    }
    const { bytes } = this.volume(volumeId);
    const snapshot = { id: `snap-${this.#next++}`, name, volumeId, bytes, pendingPolls };
    this.snapshots.set(snapshot.id, snapshot);
    return snapshot;
  }

  deleteSnapshot(id: string): void {
    const group = this.snapshots.get(id)?.groupId;
    if (group !== undefined) throw CsiError.invalidArgument(`snapshot ${id} is a member of group ${group}`);
    this.snapshots.delete(id);
  }

  createGroup(name: string, volumeIds: readonly string[], pendingPolls: number): BackendGroup {
    const known = [...this.groups.values()].find((group) => group.name === name);
    if (known !== undefined) {
      if (known.volumeIds.join() === volumeIds.join()) return known;
      throw CsiError.alreadyExists(`group snapshot ${name} is of other volumes`);
    }
    const volumes = volumeIds.map((id) => this.volume(id));
    const groupId = `group-${this.#next++}`;
    const snapshotIds = volumes.map(({ id: volumeId, bytes }) => {
      const id = `snap-${this.#next++}`;
      this.snapshots.set(id, { id, name: id, volumeId, bytes, pendingPolls, groupId });
      return id;
    });
    const group = { id: groupId, name, volumeIds: [...volumeIds], snapshotIds };
    this.groups.set(groupId, group);
    return group;
  }

  /** One read of a group; every read brings its members nearer to being ready. */
  readGroup(id: string, snapshotIds: readonly string[]): BackendGroup {
    const group = this.groups.get(id);
    if (group === undefined) throw CsiError.notFound(`group snapshot ${id} does not exist`);
    this.#checkMembers(group, snapshotIds);
    for (const each of this.membersOf(group)) if (each.pendingPolls > 0) each.pendingPolls -= 1;
    return group;
  }

  deleteGroup(id: string, snapshotIds: readonly string[]): void {
    const group = this.groups.get(id);
    if (group === undefined) return;
    this.#checkMembers(group, snapshotIds);
    for (const each of group.snapshotIds) this.snapshots.delete(each);
    this.groups.delete(id);
  }

  membersOf({ snapshotIds }: BackendGroup): BackendSnapshot[] {
    return snapshotIds.flatMap((id) => this.snapshots.get(id) ?? []);
  }

  #checkMembers(group: BackendGroup, snapshotIds: readonly string[]): void {
    if ([...snapshotIds].sort().join() !== [...group.snapshotIds].sort().join())
      throw CsiError.invalidArgument(`${snapshotIds.join()} are not the members of group ${group.id}`);
  }
}
