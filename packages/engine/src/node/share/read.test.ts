import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersionOf, mutate } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import { Bench, NODE, until } from "../../testing/agent.ts";
import { NAME, OTHER, XFS } from "./testing.ts";

const named = (name: string, nodeID: string): ShareManager => ({
  ...{ apiVersion: apiVersionOf(ShareManagers), kind: ShareManagers.kind, metadata: { name } },
  spec: { nodeID, users: [] },
});

test("only the node that is to serve a volume reports that its name can be none", async (t) => {
  const { store } = await Bench.open(t, "directory");
  await store.create(ShareManagers, named("pvc-of-a-backup", OTHER));
  await store.create(ShareManagers, named("pvc-of-nobody", ""));
  await store.create(ShareManagers, named("pvc-of-ours", NODE));
  const { status } = await until(
    store,
    ShareManagers,
    "pvc-of-ours",
    (share) => share.status?.error !== undefined,
  );
  assert.match(status?.error?.message ?? "", /"pvc-of-ours" is not an image id/);
  for (const name of ["pvc-of-a-backup", "pvc-of-nobody"])
    assert.equal((await store.get(ShareManagers, { name })).status, undefined);
});

test("a state folder that can serve no volume is reported by the node that is to serve one, and keeps none open", async (t) => {
  const bench = await Bench.open(t, "xfs", { stateFolder: "state of a node" });
  const { store } = bench;
  await store.create(ShareManagers, named("v-p-2", OTHER));
  await store.create(ShareManagers, named("v-p-3", ""));
  await store.create(ShareManagers, named(NAME, NODE));
  await bench.createVolume(NAME, XFS);
  await bench.volume(NAME, "detached");
  await bench.attached(NAME);
  const { status } = await until(store, ShareManagers, NAME, (share) => share.status?.error !== undefined);
  assert.match(status?.error?.message ?? "", /state of a node\/shares\/v-p-1 cannot be served over NFS/);
  for (const name of ["v-p-2", "v-p-3"])
    assert.equal((await store.get(ShareManagers, { name })).status, undefined);
  await mutate(store, ShareManagers, { name: NAME }, ({ spec }) => {
    spec.nodeID = "";
  });
  await bench.detached(NAME);
  await until(store, ShareManagers, NAME, (share) => share.status?.error === undefined);
});
