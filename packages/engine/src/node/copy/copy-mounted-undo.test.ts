import assert from "node:assert/strict";
import { test } from "node:test";
import { silentLogger } from "@mooring/store";
import { createHost } from "../../host/create-host.ts";
import type { PoolBackend } from "../../pools/backend.ts";
import { scratch } from "../../testing/scratch.ts";
import type { AgentContext } from "../context.ts";
import { copyMounted } from "./copy-mounted.ts";

const host = createHost();

test("a copy that fails is abandoned also when its pre-copies cannot be removed", async (t) => {
  const mount = await scratch(t, host);
  const refused = new Error("read-only file system");
  let abandoned = false;
  const backend = {
    preCopy: async () => ({ drop: () => Promise.reject(refused) }),
    beginCopy: async () => ({
      abandon: async () => {
        abandoned = true;
      },
    }),
  } as unknown as PoolBackend;
  const context = { host, logger: silentLogger } as AgentContext;
  const { signal } = new AbortController();
  const copying = copyMounted(context, { backend, copy: { source: "v-a", id: "s-a" }, mount, signal });
  await assert.rejects(copying, refused);
  assert.ok(abandoned, "its room stays promised");
});
