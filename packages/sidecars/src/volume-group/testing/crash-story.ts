import {
  ConfigMaps,
  isNotFound,
  type ObjectKey,
  type ObjectStore,
  PersistentVolumeClaims,
  PersistentVolumes,
  type Resource,
  StorageClasses,
} from "@mooring/store";
import { put } from "../../group-restore/testing/group.ts";
import { VolumeGroupClasses, VolumeGroupContents, VolumeGroups } from "../../kube/volume-group.ts";
import { until } from "../../testing/harness.ts";
import { claim, storageClass } from "../../testing/objects.ts";
import { importedGroup, volumeGroup, volumeGroupClass, volumeGroupContent } from "./objects.ts";
import { at, joined } from "./world.ts";

/**
 * What users do with volume groups, in a way that may be begun again after a crash at any point. It leads through every
 * failpoint of the controller.
 */

/** A group that the storage system has before the story begins. */
export const IMPORTED = "vg-imported";
/** Claims by the group that they are in when all is built; the last one has left its group. */
const CLAIMS = { db: ["data", "log"], doomed: ["left", "right"], imported: ["old"], none: ["passing"] };
const NAMES = Object.values(CLAIMS).flat();
const GROUPS = ["db", "doomed", "imported"];

export async function build(store: ObjectStore): Promise<void> {
  await put(store, StorageClasses, { ...storageClass(), allowVolumeExpansion: true });
  await put(store, VolumeGroupClasses, volumeGroupClass());
  const doomed = volumeGroupClass({ metadata: { name: "doomed" }, deleteMembers: "true" });
  await put(store, VolumeGroupClasses, doomed);
  await Promise.all(NAMES.map((name) => boundClaim(store, name)));
  await Promise.all([passThrough(store), makeDoomed(store), bringIn(store)]);
}

async function boundClaim(store: ObjectStore, name: string): Promise<void> {
  await put(store, PersistentVolumeClaims, claim(name));
  await until(
    `${name} is bound`,
    async () => (await store.get(PersistentVolumeClaims, at(name))).status?.phase === "Bound",
    () => store.get(PersistentVolumeClaims, at(name)),
  );
}

/** A group of claims by their label, which one of them loses. */
async function passThrough(store: ObjectStore): Promise<void> {
  for (const name of [...CLAIMS.db, ...CLAIMS.none]) await label(store, name, "db");
  const source = { selector: { matchLabels: { app: "db" } } };
  await put(store, VolumeGroups, volumeGroup("db", { source, memberSize: "2Gi" }));
  await membersAre(store, "db", [...CLAIMS.db, ...CLAIMS.none]);
  for (const name of CLAIMS.db)
    await until(`${name} grows`, async () => {
      const { spec } = await store.get(PersistentVolumeClaims, at(name));
      return spec?.resources?.requests?.storage === "2Gi";
    });
  for (const name of CLAIMS.none) await label(store, name, null);
  await membersAre(store, "db", CLAIMS.db);
  for (const name of CLAIMS.none)
    await until(`${name} is released`, async () => {
      const { metadata } = await store.get(PersistentVolumeClaims, at(name));
      return (metadata.finalizers ?? []).length === 0;
    });
}

async function makeDoomed(store: ObjectStore): Promise<void> {
  const spec = { volumeGroupClassName: "doomed", source: { claimNames: CLAIMS.doomed } };
  await put(store, VolumeGroups, volumeGroup("doomed", spec));
  await membersAre(store, "doomed", CLAIMS.doomed);
}

async function bringIn(store: ObjectStore): Promise<void> {
  const volumeGroupRef = at("imported");
  const content = volumeGroupContent("imported", {
    volumeGroupRef,
    source: { volumeGroupHandle: IMPORTED },
  });
  await put(store, VolumeGroupContents, content);
  await put(store, VolumeGroups, importedGroup("imported", "imported", { claimNames: CLAIMS.imported }));
  await membersAre(store, "imported", CLAIMS.imported);
}

async function label(store: ObjectStore, name: string, app: string | null): Promise<void> {
  const body = { metadata: { labels: { app } } };
  await store.patch(PersistentVolumeClaims, at(name), { type: "merge", body });
}

function membersAre(store: ObjectStore, group: string, names: readonly string[]) {
  return until(
    `${names.join()} are in ${group}`,
    async () => joined(...names)(await store.get(VolumeGroups, at(group))),
    () => store.get(VolumeGroups, at(group)),
  );
}

async function ensureGone(store: ObjectStore, resource: Resource, key: ObjectKey): Promise<void> {
  try {
    await store.delete(resource, key);
  } catch (error) {
    if (!isNotFound(error)) throw error;
  }
}

export async function deleteGroups(store: ObjectStore): Promise<void> {
  for (const name of GROUPS) await ensureGone(store, VolumeGroups, at(name));
}

/** The groups end, which takes only the claims with them that are to go; then users delete the other claims. */
export async function tearDown(store: ObjectStore): Promise<void> {
  await noneLeft(store, VolumeGroups);
  // A life that ended before the import was bound leaves a content without a group: its owner deletes it.
  await ensureGone(store, VolumeGroupContents, { name: "imported" });
  await noneLeft(store, VolumeGroupContents);
  for (const name of [...CLAIMS.db, ...CLAIMS.imported, ...CLAIMS.none]) {
    const { metadata } = await store.get(PersistentVolumeClaims, at(name));
    if (metadata.deletionTimestamp !== undefined || (metadata.finalizers ?? []).length > 0)
      throw new Error(`claim ${name} is not as free as before its group: ${JSON.stringify(metadata)}`);
    await store.delete(PersistentVolumeClaims, at(name));
  }
  // Not yet members when a life ended, and so not to be taken along.
  for (const name of CLAIMS.doomed) await ensureGone(store, PersistentVolumeClaims, at(name));
  for (const resource of [PersistentVolumeClaims, PersistentVolumes, ConfigMaps])
    await noneLeft(store, resource);
}

function noneLeft(store: ObjectStore, resource: Resource) {
  return until(
    `no ${resource.plural} are left`,
    async () => (await store.list(resource)).items.length === 0,
    async () => (await store.list(resource)).items,
  );
}
