import assert from "node:assert/strict";
import { mkdtemp, rm, stat } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { create, type DescMessage, type MessageInitShape } from "@bufbuild/protobuf";
import { connect, inItsVersion, type Services, silentLogger, throughV0, v0, v1 } from "../index.ts";
import { addService } from "../server/adapter.ts";
import { onSocket } from "../server/on-socket.ts";
import { route } from "../server/route.ts";
import { fails, pair, socketFor } from "../testing/serve.ts";

const Mode = v1.VolumeCapability_AccessMode_Mode;
const mount = {
  accessType: { case: "mount" as const, value: { fsType: "xfs", mountFlags: ["noatime"] } },
  accessMode: { mode: Mode.SINGLE_NODE_WRITER },
};
const volumeCapabilities = [mount];

const REQUESTS: Record<string, object> = {
  createVolume: {
    ...{ name: "n", volumeCapabilities, parameters: { p: "q" }, secrets: { token: "t" } },
    capacityRange: { requiredBytes: 5n, limitBytes: 9n },
    volumeContentSource: { type: { case: "snapshot", value: { snapshotId: "s" } } },
    accessibilityRequirements: {
      requisite: [{ segments: { "example.com/zone": "z1" } }],
      preferred: [{ segments: { "example.com/zone": "z1" } }],
    },
  },
  deleteVolume: { volumeId: "v", secrets: { token: "t" } },
  controllerPublishVolume: {
    ...{ volumeId: "v", nodeId: "n1", readonly: true, secrets: { a: "b" }, volumeContext: { c: "d" } },
    volumeCapability: mount,
  },
  controllerUnpublishVolume: { volumeId: "v", nodeId: "n1", secrets: { a: "b" } },
  validateVolumeCapabilities: { volumeId: "v", volumeContext: { c: "d" }, volumeCapabilities },
  listVolumes: { maxEntries: 7, startingToken: "x" },
  getCapacity: {
    ...{ volumeCapabilities, parameters: { p: "q" } },
    accessibleTopology: { segments: { "example.com/zone": "z1" } },
  },
  createSnapshot: { sourceVolumeId: "v", name: "s", secrets: { a: "b" }, parameters: { p: "q" } },
  deleteSnapshot: { snapshotId: "s", secrets: { a: "b" } },
  listSnapshots: { maxEntries: 7, startingToken: "x", sourceVolumeId: "v", snapshotId: "s" },
  nodeStageVolume: {
    ...{ volumeId: "v", publishContext: { e: "f" }, stagingTargetPath: "/s", volumeCapability: mount },
    ...{ secrets: { a: "b" }, volumeContext: { c: "d" } },
  },
  nodeUnstageVolume: { volumeId: "v", stagingTargetPath: "/s" },
  nodeUnpublishVolume: { volumeId: "v", targetPath: "/t" },
};

const volume = {
  ...{ volumeId: "v", capacityBytes: 7n, volumeContext: { c: "d" } },
  contentSource: { type: { case: "snapshot", value: { snapshotId: "s" } } },
  accessibleTopology: [{ segments: { zone: "z1" } }],
};
const snapshot = {
  ...{ snapshotId: "s", sourceVolumeId: "v", sizeBytes: 7n, readyToUse: true },
  creationTime: { seconds: 3n, nanos: 5 },
};
const RESPONSES: Record<string, object> = {
  createVolume: { volume },
  controllerPublishVolume: { publishContext: { device: "/dev/x" } },
  validateVolumeCapabilities: { confirmed: { volumeContext: { c: "d" }, volumeCapabilities } },
  listVolumes: { nextToken: "y", entries: [{ volume }] },
  getCapacity: { availableCapacity: 11n },
  createSnapshot: { snapshot },
  listSnapshots: { nextToken: "y", entries: [{ snapshot }] },
  nodeGetInfo: {
    ...{ nodeId: "n1", maxVolumesPerNode: 3n },
    accessibleTopology: { segments: { zone: "z1" } },
  },
};

const METHODS = [...v1.Controller.methods, ...v1.Node.methods];
const full = (schema: DescMessage, init: object = {}) =>
  create(schema, init as MessageInitShape<DescMessage>);

test("every method of csi.v1 that csi.v0 has takes its request and its response through it unchanged", async (t) => {
  const seen: Record<string, object> = {};
  const handlers = (names: readonly string[]) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        (request: object) => {
          seen[name] = request;
          return RESPONSES[name] ?? {};
        },
      ]),
    );
  const services: Services = {
    identity: { getPluginInfo: () => ({ name: "a.example.com", vendorVersion: "1" }) },
    controller: handlers(Object.keys(REQUESTS).filter((name) => !name.startsWith("node"))),
    node: handlers([...Object.keys(REQUESTS).filter((name) => name.startsWith("node")), "nodeGetInfo"]),
  };
  const { client } = await pair(t, services);
  const through = throughV0(client);
  assert.equal((await through.identity.getPluginInfo({})).name, "a.example.com");
  const calls = { ...through.controller, ...through.node } as unknown as Record<
    string,
    (init: object) => Promise<object>
  >;
  for (const name of [...Object.keys(REQUESTS), "nodeGetInfo"]) {
    const method = METHODS.find(({ localName }) => localName === name);
    assert.ok(method, name);
    const response = await calls[name]?.(REQUESTS[name] ?? {});
    assert.deepEqual(seen[name], full(method.input, REQUESTS[name]), name);
    assert.deepEqual(response, full(method.output, RESPONSES[name]), name);
  }
  const { capabilities } = await through.controller.controllerGetCapabilities({});
  const names = capabilities.map(
    ({ type }) => v1.ControllerServiceCapability_RPC_Type[type.value?.type ?? 0],
  );
  assert.ok(names.includes("CREATE_DELETE_VOLUME") && names.includes("PUBLISH_UNPUBLISH_VOLUME"), `${names}`);
});

test("what csi.v0 cannot say is refused, and what it does not have is not implemented", async (t) => {
  const { client } = await pair(t, { identity: {}, controller: { createVolume: () => ({}) } });
  const { controller, node } = throughV0(client);
  const base = { name: "n", volumeCapabilities };
  const clone = { type: { case: "volume" as const, value: { volumeId: "v" } } };
  const forOne = [{ ...mount, accessMode: { mode: Mode.SINGLE_NODE_SINGLE_WRITER } }];
  const refused = (what: RegExp) => fails("INVALID_ARGUMENT", what);
  await assert.rejects(
    controller.createVolume({ ...base, volumeContentSource: clone }),
    refused(/CLONE_VOLUME/),
  );
  await assert.rejects(
    controller.createVolume({ ...base, mutableParameters: { a: "b" } }),
    refused(/MODIFY/),
  );
  await assert.rejects(
    controller.createVolume({ ...base, volumeCapabilities: forOne }),
    refused(/single pod/),
  );
  await assert.rejects(
    controller.controllerExpandVolume({ volumeId: "v" }),
    fails("UNIMPLEMENTED", /csi\.v0, which has no ControllerExpandVolume/),
  );
  await assert.rejects(node.nodeGetVolumeStats({ volumeId: "v" }), fails("UNIMPLEMENTED", /csi\.v0/));
});

/** A plugin of 2018: nothing but csi.v0, as its handlers are written for it. */
async function oldPlugin(t: TestContext, handlers: Record<string, unknown>): Promise<string> {
  const path = await socketFor(t);
  const server = onSocket(path, (grpc) => {
    for (const service of [v0.Identity, v0.Controller, v0.Node]) {
      const next = route(new Map([[service, handlers]]));
      addService(grpc, service, { nextOf: () => next, logger: silentLogger, observe: undefined });
    }
  });
  await server.start();
  t.after(() => server.stop(0));
  return `unix://${path}`;
}

async function clientOf(t: TestContext, endpoint: string) {
  const client = await connect(endpoint);
  t.after(() => client.close());
  return client;
}

test("a plugin is called in the version that it has", async (t) => {
  const info = { getPluginInfo: () => ({ name: "old.example.com", vendorVersion: "0.1" }) };
  const { ERROR_UPLOADING } = v0.SnapshotStatus_Type;
  const createSnapshot = () => ({
    snapshot: { id: "s", status: { type: ERROR_UPLOADING, details: "no space" } },
  });
  const old = await inItsVersion(await clientOf(t, await oldPlugin(t, { ...info, createSnapshot })));
  assert.equal((await old.identity.getPluginInfo({})).name, "old.example.com");
  await assert.rejects(
    old.controller.createSnapshot({ sourceVolumeId: "v", name: "s" }),
    fails("INTERNAL", /could not be uploaded: no space/),
  );
  const { client } = await pair(t, { identity: info });
  assert.equal(await inItsVersion(client), client);
  const neither = await clientOf(t, await oldPlugin(t, {}));
  await assert.rejects(inItsVersion(neither), fails("UNIMPLEMENTED"));
});

test("the target of a volume is there before csi.v0 is asked to publish it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "csi-v0-target-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  const found: string[] = [];
  const nodePublishVolume = async ({ targetPath }: v0.NodePublishVolumeRequest) => {
    found.push((await stat(targetPath)).isDirectory() ? "folder" : "file");
    return {};
  };
  const endpoint = await oldPlugin(t, {
    getPluginInfo: () => ({ name: "old.example.com" }),
    nodePublishVolume,
  });
  const { node } = await inItsVersion(await clientOf(t, endpoint));
  const block = { ...mount, accessType: { case: "block" as const, value: {} } };
  for (const [name, volumeCapability] of [["a", mount] as const, ["b", block] as const]) {
    const request = { volumeId: "v", targetPath: join(folder, name), volumeCapability };
    await node.nodePublishVolume(request);
    await node.nodePublishVolume(request);
  }
  assert.deepEqual(found, ["folder", "folder", "file", "file"]);
});
