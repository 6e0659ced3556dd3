import assert from "node:assert/strict";
import { test } from "node:test";
import { apiVersionOf } from "@mooring/store";
import { type ShareManager, ShareManagers } from "../../api/share-manager.ts";
import { Bench, NODE, until } from "../../testing/agent.ts";
import { OTHER } from "./testing.ts";

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
