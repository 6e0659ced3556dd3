import {
  CSINodes,
  type KubeObject,
  Nodes,
  type ObjectStore,
  PersistentVolumes,
  type Resource,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeSnapshotClasses,
} from "@mooring/store";
import {
  csiNode,
  groupClass,
  node,
  persistentVolume,
  snapshotClass,
  storageClass,
} from "../../../packages/sidecars/src/testing/objects.ts";
import { load } from "../measure.ts";
import { IN_FLIGHT, LARGE } from "./sizes.ts";

/** What is there before. A server gives UIDs itself. */
export async function prepare(store: ObjectStore): Promise<void> {
  await store.create(StorageClasses, storageClass());
  await store.create(VolumeSnapshotClasses, snapshotClass());
  await store.create(VolumeGroupSnapshotClasses, groupClass());
  await store.create(Nodes, node("n0"));
  await store.create(CSINodes, csiNode("n0", []));
}

/** The same with volumes that others have declared, on nodes of which each is a place of its own. */
export async function prepareLarge(store: ObjectStore): Promise<void> {
  await prepare(store);
  const create = <T extends KubeObject>(resource: Resource<T>, count: number, one: (name: string) => T) =>
    load(count, IN_FLIGHT, (index) => store.create(resource, one(`there-${index}`)));
  await create(Nodes, LARGE.nodes, (name) => node(name, { rack: name }));
  await create(CSINodes, LARGE.nodes, (name) => csiNode(name, ["rack"]));
  await create(PersistentVolumes, LARGE.volumes, (name) => {
    const { metadata: _, ...volume } = persistentVolume(name, { persistentVolumeReclaimPolicy: "Retain" });
    return { ...volume, metadata: { name } };
  });
}
