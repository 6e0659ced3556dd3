import assert from "node:assert/strict";
import { test } from "node:test";
import type { MountEntry, ShareManager } from "@mooring/engine";
import { isLost } from "./lost-servers.ts";

const MOUNTED = {
  fsType: "nfs4",
  source: "10.0.0.5:/v-p-1",
  superOptions: ["rw", "vers=4.1", "hard", "port=20490", "addr=10.0.0.5"],
} as unknown as MountEntry;

const served = (state: string, endpoint?: string) => ({ status: { state, endpoint } }) as ShareManager;

test("a server is lost when another one serves the volume, or the node that has it needs none", () => {
  const lost = (share: ShareManager | undefined) => isLost(MOUNTED, share);
  assert.equal(lost(served("running", "nfs://10.0.0.5:20490/v-p-1")), false);
  assert.equal(lost(served("running", "nfs://10.0.0.6:20490/v-p-1")), true);
  assert.equal(lost(served("running", "nfs://10.0.0.5:20491/v-p-1")), true);
  assert.equal(lost(served("running")), true);
});

test("while nothing says where the volume is served, its server may come back", () => {
  assert.equal(isLost(MOUNTED, served("starting", "nfs://10.0.0.6:20490/v-p-1")), false);
  assert.equal(isLost(MOUNTED, undefined), false);
});
