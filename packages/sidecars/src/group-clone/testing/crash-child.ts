import {
  isNotFound,
  LocalStore,
  PersistentVolumeClaims,
  StorageClasses,
  VolumeGroupSnapshotClasses,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { put } from "../../group-restore/testing/group.ts";
import { VolumeGroupClones } from "../../kube/group-clone.ts";
import { VolumeGroupClasses, VolumeGroups } from "../../kube/volume-group.ts";
import { startSidecars } from "../../start.ts";
import { labelled } from "../../testing/group-world.ts";
import { until } from "../../testing/harness.ts";
import { runMiniKube } from "../../testing/mini-kube.ts";
import { groupClass, storageClass } from "../../testing/objects.ts";
import { testRegistry } from "../../testing/registry.ts";
import { volumeGroup, volumeGroupClass } from "../../volume-group/testing/objects.ts";
import { at } from "../../volume-group/testing/world.ts";
import { groupClone } from "./objects.ts";

/**
 * One life of a control plane: `crash-child.ts <store folder> <endpoint> <clone|give-up>`. Ends with 0 when the clone is
 * ready, or when it is gone after a user has deleted it.
 */
const [, , path = "", endpoint = "", part = ""] = process.argv;
const store = await LocalStore.open({ path, registry: testRegistry() });
const copy = at("copy");
// While no control plane runs: one that begins would first go on with the clone.
if (part === "give-up")
  await store.delete(VolumeGroupClones, copy).catch((error: unknown) => {
    if (!isNotFound(error)) throw error;
  });
const life = new AbortController();
const kube = runMiniKube(store, life.signal);
const retry = { startMs: 5, maxMs: 40, infeasibleMs: 60 };
const { done } = await startSidecars({ store, endpoint, retry, timeoutMs: 2_000, signal: life.signal });
if (part === "clone") {
  await put(store, StorageClasses, storageClass());
  await put(store, VolumeGroupClasses, volumeGroupClass());
  await put(store, VolumeGroupSnapshotClasses, groupClass());
  for (const name of ["a", "b"]) await put(store, PersistentVolumeClaims, labelled(name));
  await put(store, VolumeGroups, volumeGroup("db", { source: { claimNames: ["a", "b"] } }));
  const isSynced = async () => {
    const { status } = await store.get(VolumeGroups, at("db"));
    // Of claims that have volumes: the second one may have none yet.
    const both = status?.memberCount === 2;
    return both && status?.conditions?.find(({ type }) => type === "MembersSynced")?.status === "True";
  };
  await until("the group has its members", isSynced);
  await put(store, VolumeGroupClones, groupClone());
}
const clones = async () => (await store.list(VolumeGroupClones)).items;
await until(
  "the clone is as it should be",
  async () => {
    const [clone] = await clones();
    return part === "clone" ? clone?.status?.phase === "Ready" : clone === undefined;
  },
  clones,
);
await nothingSleeps();
life.abort();
await Promise.all([done, kube]);
await store.close();
