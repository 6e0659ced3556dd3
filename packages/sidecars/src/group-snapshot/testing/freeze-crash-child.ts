import {
  LocalStore,
  PersistentVolumeClaims,
  StorageClasses,
  VolumeGroupSnapshotClasses,
  VolumeGroupSnapshots,
} from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { put } from "../../group-restore/testing/group.ts";
import { VolumeGroupClasses, VolumeGroups } from "../../kube/volume-group.ts";
import { startSidecars } from "../../start.ts";
import { labelled } from "../../testing/group-world.ts";
import { until } from "../../testing/harness.ts";
import { runMiniKube } from "../../testing/mini-kube.ts";
import { groupClass, groupSnapshot, storageClass } from "../../testing/objects.ts";
import { testRegistry } from "../../testing/registry.ts";
import { volumeGroup, volumeGroupClass } from "../../volume-group/testing/objects.ts";
import { at, joined } from "../../volume-group/testing/world.ts";

/**
 * One life of a control plane: `freeze-crash-child.ts <store folder> <endpoint>`. A group snapshot of a VolumeGroup names a class
 * that is not there yet, fails, and is made after it has come. Ends with 0 when that is done and the membership can change again.
 */
const [, , path = "", endpoint = ""] = process.argv;
const store = await LocalStore.open({ path, registry: testRegistry() });
const life = new AbortController();
const kube = runMiniKube(store, life.signal);
const retry = { startMs: 5, maxMs: 40, infeasibleMs: 60 };
const { done } = await startSidecars({ store, endpoint, retry, timeoutMs: 2_000, signal: life.signal });
await put(store, StorageClasses, storageClass());
await put(store, VolumeGroupClasses, volumeGroupClass());
for (const name of ["a", "b"]) await put(store, PersistentVolumeClaims, labelled(name));
await put(store, VolumeGroups, volumeGroup("db"));
const db = () => store.get(VolumeGroups, at("db"));
const members = async () => (await db()).status?.members?.filter(({ state }) => state === "Joined") ?? [];
// A group snapshot takes those that are members at its moment, not those that will be.
await until("both claims are members", async () => (await members()).length === 2, db);

const wanted = groupSnapshot("noon", { source: { selector: {} }, volumeGroupSnapshotClassName: "groups" });
wanted.metadata.annotations = { "storage.mooring.dev/volume-group": "db" };
await put(store, VolumeGroupSnapshots, wanted);
const noon = () => store.get(VolumeGroupSnapshots, at("noon"));
const hasClass = async () => (await store.list(VolumeGroupSnapshotClasses)).items.length > 0;
const isReported = async () => (await hasClass()) || (await noon()).status?.error !== undefined;
await until("the missing class is reported", isReported, noon);
await put(store, VolumeGroupSnapshotClasses, groupClass());
await until("it is made", async () => (await noon()).status?.readyToUse === true, noon);

const body = { metadata: { labels: { app: null } } };
await store.patch(PersistentVolumeClaims, at("b"), { type: "merge", body });
const isThawed = async () => {
  const group = await db();
  return joined("a")(group) && group.status?.frozenFor === undefined;
};
await until("the membership changes", isThawed, db);
await nothingSleeps();
life.abort();
await Promise.all([done, kube]);
await store.close();
