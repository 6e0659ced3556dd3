import {
  type Snapshot,
  Snapshots,
  type Volume,
  VolumeAttachments,
  type VolumeSource,
  Volumes,
} from "@mooring/engine";
import {
  createInformer,
  type Informer,
  type KubeObject,
  type ObjectStore,
  type Resource,
} from "@mooring/store";
import { listObjects } from "./find.ts";
import { publishedNodes } from "./published-nodes.ts";

/**
 * Objects that belong to another one, found without reading all there are: with ten thousand volumes that would take
 * longer than everything else in a call. What was written a moment ago may be missing.
 */
export interface Related {
  /** Volumes that are being filled from a volume or a snapshot. One that is done stands on its own. */
  copiesOf(source: VolumeSource, signal: AbortSignal): Promise<string[]>;
  /** Snapshots of a volume that are not made yet. */
  pendingSnapshotsOf(volume: string, signal: AbortSignal): Promise<string[]>;
  /** Volumes that are published to a node. */
  publishedTo(nodeID: string, signal: AbortSignal): Promise<string[]>;
}

const keyOf = ({ kind, name }: VolumeSource): string => `${kind}/${name}`;

const copyOf = ({ spec, status }: Volume): string[] =>
  spec.source === undefined || status?.size !== undefined ? [] : [keyOf(spec.source)];
const pendingSourceOf = ({ spec, status }: Snapshot): string[] =>
  status?.creationTime === undefined ? [spec.volume] : [];

type Finder = (value: string, signal: AbortSignal) => Promise<string[]>;

/** With a `lifetime` a live copy is kept until it aborts; without one, every request reads the store. */
export function relatedIn(store: ObjectStore, lifetime?: AbortSignal): Related {
  const finder = <T extends KubeObject>(resource: Resource<T>, keys: (object: T) => string[]): Finder =>
    lifetime === undefined ? reading(store, resource, keys) : watching(store, resource, keys, lifetime);
  const copies = finder(Volumes, copyOf);
  return {
    copiesOf: (source, signal) => copies(keyOf(source), signal),
    pendingSnapshotsOf: finder(Snapshots, pendingSourceOf),
    publishedTo: finder(VolumeAttachments, publishedNodes),
  };
}

function reading<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  keys: (object: T) => string[],
): Finder {
  return async (value, signal) => {
    const all = await listObjects(store, resource, signal);
    return all.filter((object) => keys(object).includes(value)).map(({ metadata }) => metadata.name);
  };
}

function watching<T extends KubeObject>(
  store: ObjectStore,
  resource: Resource<T>,
  keys: (object: T) => string[],
  lifetime: AbortSignal,
): Finder {
  const informer: Informer<T> = createInformer(store, resource, { indexers: { related: keys } });
  // It ends with its signal and never fails.
  void informer.run(lifetime);
  return async (value, signal) => {
    await informer.synced(signal);
    return informer.byIndex("related", value).map(({ metadata }) => metadata.name);
  };
}
