import { LocalStore, PersistentVolumeClaims, StorageClasses } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import { VolumeGroupRestores } from "../../kube/group-restore.ts";
import { VolumeGroupClasses } from "../../kube/volume-group.ts";
import { startSidecars } from "../../start.ts";
import { until } from "../../testing/harness.ts";
import { runMiniKube } from "../../testing/mini-kube.ts";
import { claim, storageClass } from "../../testing/objects.ts";
import { testRegistry } from "../../testing/registry.ts";
import { volumeGroupClass } from "../../volume-group/testing/objects.ts";
import { groupRestore, put, putGroup } from "./group.ts";

/** One life of a control plane: `crash-child.ts <store folder> <endpoint>`. Ends with 0 when the restore is ready. */
const [, , path = "", endpoint = ""] = process.argv;
const store = await LocalStore.open({ path, registry: testRegistry() });
const life = new AbortController();
const kube = runMiniKube(store, life.signal);
const { done } = await startSidecars({
  store,
  endpoint,
  controllers: ["provision", "group-restore", "volume-group"],
  retry: { startMs: 5, maxMs: 40, infeasibleMs: 60 },
  signal: life.signal,
});
await put(store, StorageClasses, storageClass());
await put(store, PersistentVolumeClaims, claim("data"));
await putGroup(store, ["data", "wal"]);
await put(store, VolumeGroupClasses, volumeGroupClass());
const wish = {
  defaults: { storageClassName: "fast" },
  volumeGroup: { name: "again", volumeGroupClassName: "groups" },
};
await put(store, VolumeGroupRestores, groupRestore(wish));
await until("the restore is ready", async () => {
  const { status } = await store.get(VolumeGroupRestores, { namespace: "default", name: "again" });
  return status?.phase === "Ready";
});
await nothingSleeps();
life.abort();
await Promise.all([done, kube]);
await store.close();
