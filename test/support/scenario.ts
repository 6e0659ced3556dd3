import { Snapshots, VolumeAttachments, Volumes } from "@mooring/engine";
import {
  isAlreadyExists,
  isNotFound,
  type KubeObject,
  KubeVolumeAttachments,
  Namespaces,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  Pods,
  type Resource,
  VolumeSnapshotContents,
  VolumeSnapshots,
} from "@mooring/store";
import { eventually } from "./eventually.ts";
import { claim, pod, snapshot } from "./manifests.ts";

/** Kinds of which nothing may be left when all claims and snapshots are gone. */
export const LEFTOVER_KINDS: readonly Resource[] = [
  PersistentVolumes,
  KubeVolumeAttachments,
  VolumeSnapshotContents,
  Volumes,
  VolumeAttachments,
  Snapshots,
];

/** Runs `work` against the store; when the server has died under it, brings it back and runs it again. */
export type Persist = <T>(work: (store: ObjectStore) => Promise<T>) => Promise<T>;

async function ensure<T extends KubeObject>(
  persist: Persist,
  resource: Resource<T>,
  object: T,
): Promise<void> {
  await persist(async (store) => {
    await store.create(resource, object).catch((error) => {
      if (!isAlreadyExists(error)) throw error;
    });
  });
}

async function reaches<T extends KubeObject>(
  persist: Persist,
  resource: Resource<T>,
  key: ObjectKey,
  accept: (object: T) => boolean,
): Promise<void> {
  await eventually(`${resource.kind} ${key.name}`, () =>
    persist(async (store) => accept(await store.get(resource, key))),
  );
}

async function gone(persist: Persist, resource: Resource, key: ObjectKey): Promise<void> {
  await persist((store) =>
    store.delete(resource, key).catch((error) => {
      if (!isNotFound(error)) throw error;
    }),
  );
  await eventually(`${resource.kind} ${key.name} to be gone`, () =>
    persist(async (store) =>
      store.get(resource, key).then(
        () => false,
        (error) => {
          if (isNotFound(error)) return true;
          throw error;
        },
      ),
    ),
  );
}

/** Provision, attach, stage, publish, write, snapshot, restore, compare. Every step may be run again. */
export async function build(persist: Persist, namespace: string): Promise<void> {
  await ensure(persist, Namespaces, { apiVersion: "v1", kind: "Namespace", metadata: { name: namespace } });
  await ensure(persist, PersistentVolumeClaims, claim(namespace, "live"));
  const write = "echo precious > /data/precious; sync /data/precious; touch /data/up; exec sleep 100000";
  await ensure(persist, Pods, pod(namespace, "writer", write, { "/data": "live" }, "Always"));
  await reaches(persist, Pods, { namespace, name: "writer" }, (item) => item.status?.phase === "Running");
  await ensure(persist, VolumeSnapshots, snapshot(namespace, "cut", "live"));
  await reaches(
    persist,
    VolumeSnapshots,
    { namespace, name: "cut" },
    (item) => item.status?.readyToUse === true,
  );
  await ensure(
    persist,
    PersistentVolumeClaims,
    claim(namespace, "restored", { size: "96Mi", snapshot: "cut" }),
  );
  await ensure(
    persist,
    Pods,
    pod(namespace, "reader", "df /data; ls /data", { "/data": "restored" }, "OnFailure"),
  );
  await reaches(persist, Pods, { namespace, name: "reader" }, (item) => item.status?.phase === "Succeeded");
}

/** Deletes all that {@link build} made and waits until nothing is left of it. */
export async function destroy(persist: Persist, namespace: string): Promise<void> {
  for (const name of ["reader", "writer"]) await gone(persist, Pods, { namespace, name });
  await gone(persist, VolumeSnapshots, { namespace, name: "cut" });
  for (const name of ["restored", "live"]) await gone(persist, PersistentVolumeClaims, { namespace, name });
  await gone(persist, Namespaces, { name: namespace });
  for (const resource of LEFTOVER_KINDS) {
    await eventually(`no ${resource.plural} to be left`, () =>
      persist(async (store) => (await store.list(resource)).items.length === 0),
    );
  }
}
