import assert from "node:assert/strict";
import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { CsiError, connect, createServer, v1 } from "./index.ts";

const mount = {
  accessType: { case: "mount" as const, value: {} },
  accessMode: { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER },
};

test("a typed client and a server talk over a unix socket", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "csi-"));
  t.after(() => rm(folder, { recursive: true }));
  const endpoint = `unix://${join(folder, "csi.sock")}`;
  const server = createServer(
    {
      identity: {
        getPluginInfo: async () => ({ name: "a.test.dev", vendorVersion: "1" }),
        probe: () => ({ ready: true }),
      },
      controller: {
        createVolume: async (request) => ({
          volume: { volumeId: request.name, capacityBytes: request.capacityRange?.requiredBytes ?? 0n },
        }),
        deleteVolume: async (request) => {
          throw CsiError.failedPrecondition(`${request.volumeId} is in use`, {
            reason: "CSI_IN_USE",
            hint: "wait ü",
          });
        },
      },
      snapshotMetadata: {
        async *getMetadataAllocated() {
          yield { volumeCapacityBytes: 1n };
          yield { volumeCapacityBytes: 2n };
        },
      },
    },
    { endpoint },
  );
  await server.start();
  t.after(() => server.stop());
  const client = await connect(endpoint);
  t.after(() => client.close());

  const info = await client.identity.getPluginInfo({});
  assert.equal(info.name, "a.test.dev");
  const big = 2n ** 62n + 1n;
  const made = await client.controller.createVolume({
    name: "v",
    volumeCapabilities: [mount],
    capacityRange: { requiredBytes: big },
  });
  assert.equal(made.volume?.capacityBytes, big);
  await assert.rejects(client.controller.deleteVolume({ volumeId: "v" }), (error) => {
    assert.ok(error instanceof CsiError);
    assert.equal(error.codeName, "FAILED_PRECONDITION");
    assert.equal(error.reason, "CSI_IN_USE");
    assert.equal(error.hint, "wait ü");
    return true;
  });
  await assert.rejects(client.node.nodeGetInfo({}), { codeName: "UNIMPLEMENTED" });
  const sizes: bigint[] = [];
  for await (const part of client.snapshotMetadata.getMetadataAllocated({ snapshotId: "s" })) {
    sizes.push(part.volumeCapacityBytes);
  }
  assert.deepEqual(sizes, [1n, 2n]);
});
