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
}

export interface BackendSnapshot {
  id: string;
  name: string;
  volumeId: string;
  bytes: bigint;
  /** Polls until it is ready. */
  pendingPolls: number;
}

/** A storage system in memory, strict about names: what a driver in front of a real one would see. */
export class Backend {
  readonly volumes = new Map<string, BackendVolume>();
  readonly snapshots = new Map<string, BackendSnapshot>();
  /** Ids that were given out, so that none comes twice. */
  #next = 1;

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
}
