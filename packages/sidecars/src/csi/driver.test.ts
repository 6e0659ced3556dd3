import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { connect, createServer, v1 } from "@mooring/csi";
import { describeDriver } from "./driver.ts";

test("an instance on a node reports what the plugin can as a whole, and serves a part of it: that is no error", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-describe-"));
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const { CONTROLLER_SERVICE, GROUP_CONTROLLER_SERVICE } = v1.PluginCapability_Service_Type;
  const server = createServer(
    {
      identity: {
        getPluginInfo: () => ({ name: "test.csi.example.com", vendorVersion: "1" }),
        getPluginCapabilities: () => ({
          capabilities: [CONTROLLER_SERVICE, GROUP_CONTROLLER_SERVICE].map((type) => ({
            type: { case: "service" as const, value: { type } },
          })),
        }),
        probe: () => ({ ready: true }),
      },
      node: {
        nodeGetCapabilities: () => ({
          capabilities: [
            {
              type: {
                case: "rpc" as const,
                value: { type: v1.NodeServiceCapability_RPC_Type.EXPAND_VOLUME },
              },
            },
          ],
        }),
      },
    },
    { endpoint },
  );
  await server.start();
  const client = await connect(endpoint);
  t.after(async () => {
    client.close();
    await server.stop();
    await rm(folder, { recursive: true, force: true });
  });
  const info = await describeDriver(client, { signal: new AbortController().signal, timeoutMs: 30_000 });
  assert.deepEqual(
    { can: [...info.can], groups: info.groupSnapshots, nodeExpansion: info.nodeExpansion },
    { can: [], groups: false, nodeExpansion: true },
  );
});
