import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { CsiError, type Services, v0, type v1 } from "../index.ts";
import { fails, pair } from "../testing/serve.ts";

const mode = v0.VolumeCapability_AccessMode_Mode.MULTI_NODE_MULTI_WRITER;
const mounted = {
  accessType: { case: "mount" as const, value: { fsType: "xfs", mountFlags: ["noatime"] } },
  accessMode: { mode },
};

/** Handlers that keep the request they got and return what a plugin would. */
function recorder(responses: Record<string, object> = {}): {
  services: Services;
  seen: Record<string, object>;
} {
  const seen: Record<string, object> = {};
  const service = (names: readonly string[]) =>
    Object.fromEntries(
      names.map((name) => [
        name,
        (request: object) => {
          seen[name] = request;
          return responses[name] ?? {};
        },
      ]),
    );
  return {
    seen,
    services: {
      identity: service(["getPluginInfo"]),
      controller: service([
        "createVolume",
        "deleteVolume",
        "controllerPublishVolume",
        "controllerUnpublishVolume",
        "validateVolumeCapabilities",
        "listVolumes",
        "getCapacity",
        "createSnapshot",
        "deleteSnapshot",
        "listSnapshots",
        "controllerExpandVolume",
      ]),
      node: service([
        "nodeStageVolume",
        "nodeUnstageVolume",
        "nodePublishVolume",
        "nodeUnpublishVolume",
        "nodeGetInfo",
      ]),
    },
  };
}

test("a key of a topology that only csi.v0 takes comes through it, and is refused in csi.v1", async (t) => {
  covers("CSI-355");
  const { services, seen } = recorder({ createVolume: { volume: { volumeId: "id" } } });
  const { client } = await pair(t, services);
  const request = {
    ...{ name: "n", volumeCapabilities: [mounted] },
    accessibilityRequirements: { requisite: [{ segments: { "Com_Company/zone": "z1" } }] },
  };
  await client.v0.controller.createVolume(request);
  const { accessibilityRequirements } = seen["createVolume"] as v1.CreateVolumeRequest;
  assert.deepEqual(accessibilityRequirements?.requisite[0]?.segments, { "Com_Company/zone": "z1" });
  await assert.rejects(client.controller.createVolume(request), /"Com_Company\/zone".*lower-case/);
});

test("a volume is made through csi.v0 with every field in its place", async (t) => {
  covers("CSI-076", "CSI-097", "CSI-101");
  const { services, seen } = recorder({
    createVolume: {
      volume: {
        volumeId: "id",
        capacityBytes: 7n,
        volumeContext: { a: "b" },
        contentSource: { type: { case: "snapshot", value: { snapshotId: "s" } } },
        accessibleTopology: [{ segments: { zone: "z1" } }],
      },
    },
  });
  const { client } = await pair(t, services);
  const { volume } = await client.v0.controller.createVolume({
    name: "n",
    capacityRange: { requiredBytes: 5n, limitBytes: 9n },
    volumeCapabilities: [mounted],
    parameters: { p: "q" },
    controllerCreateSecrets: { token: "t" },
    volumeContentSource: { type: { case: "snapshot", value: { id: "s" } } },
    accessibilityRequirements: { requisite: [{ segments: { zone: "z1" } }] },
  });
  const request = seen["createVolume"] as v1.CreateVolumeRequest;
  assert.equal(request.capacityRange?.limitBytes, 9n);
  assert.deepEqual(request.secrets, { token: "t" });
  assert.equal(request.volumeCapabilities[0]?.accessMode?.mode, mode as number);
  const source = request.volumeContentSource?.type;
  assert.equal(source?.case === "snapshot" && source.value.snapshotId, "s");
  assert.deepEqual(request.accessibilityRequirements?.requisite[0]?.segments, { zone: "z1" });
  assert.equal(volume?.id, "id");
  assert.deepEqual(volume.attributes, { a: "b" });
  assert.equal(volume.contentSource?.type.value?.id, "s");
  assert.deepEqual(volume.accessibleTopology[0]?.segments, { zone: "z1" });
});

test("publish information goes through csi.v0 unchanged, both ways", async (t) => {
  covers("CSI-149");
  const { services, seen } = recorder({ controllerPublishVolume: { publishContext: { device: "/dev/x" } } });
  const { client } = await pair(t, services);
  const ids = { volumeId: "v", nodeId: "n", volumeCapability: mounted, volumeAttributes: { a: "b" } };
  const { publishInfo } = await client.v0.controller.controllerPublishVolume(ids);
  assert.deepEqual(publishInfo, { device: "/dev/x" });
  await client.v0.node.nodePublishVolume({
    volumeId: "v",
    publishInfo,
    stagingTargetPath: "/s",
    targetPath: "/t",
    volumeCapability: mounted,
    readonly: true,
    nodePublishSecrets: { a: "b" },
    volumeAttributes: { a: "b" },
  });
  const request = seen["nodePublishVolume"] as v1.NodePublishVolumeRequest;
  assert.deepEqual(request.publishContext, { device: "/dev/x" });
  assert.deepEqual(request.volumeContext, { a: "b" });
  assert.equal(request.readonly, true);
});

test("snapshots in csi.v0 have nanoseconds and a status", async (t) => {
  covers("CSI-213", "CSI-215", "CSI-216");
  const response = (readyToUse: boolean) => ({
    snapshot: { snapshotId: "s", sourceVolumeId: "v", creationTime: { seconds: 3n, nanos: 5 }, readyToUse },
  });
  const { READY, UPLOADING } = v0.SnapshotStatus_Type;
  for (const [ready, type] of [
    [true, READY],
    [false, UPLOADING],
  ] as const) {
    const { client } = await pair(t, recorder({ createSnapshot: response(ready) }).services);
    const { snapshot } = await client.v0.controller.createSnapshot({ sourceVolumeId: "v", name: "n" });
    assert.equal(snapshot?.createdAt, 3_000_000_005n);
    assert.equal(snapshot.status?.type, type);
  }
});

test("NodeGetId and NodeGetInfo of csi.v0 name the same node", async (t) => {
  covers("CSI-018");
  const { client } = await pair(
    t,
    recorder({ nodeGetInfo: { nodeId: "n1", maxVolumesPerNode: 3n } }).services,
  );
  assert.equal((await client.v0.node.nodeGetId({})).nodeId, "n1");
  const info = await client.v0.node.nodeGetInfo({});
  assert.deepEqual([info.nodeId, info.maxVolumesPerNode], ["n1", 3n]);
});

test("csi.v0 announces only what csi.v0 has", async (t) => {
  covers("CSI-198", "CSI-302");
  const { client } = await pair(t, recorder().services, {
    capabilities: {
      plugin: ["VOLUME_ACCESSIBILITY_CONSTRAINTS", "SNAPSHOT_METADATA_SERVICE"],
      expansion: ["ONLINE"],
    },
  });
  const types = (capabilities: { type: { value?: { type: number } | undefined } }[]) =>
    capabilities.map(({ type }) => type.value?.type);
  assert.deepEqual(types((await client.v0.identity.getPluginCapabilities({})).capabilities), [1, 2]);
  assert.deepEqual(
    types((await client.v0.controller.controllerGetCapabilities({})).capabilities),
    [1, 2, 3, 4, 5, 6],
  );
  assert.deepEqual(types((await client.v0.node.nodeGetCapabilities({})).capabilities), [1]);
});

test("unpublishing an unknown volume: NOT_FOUND by csi.v0, OK by csi.v1", async (t) => {
  covers("CSI-170");
  const find = ({ volumeId }: { volumeId: string }): void => {
    if (volumeId !== "known") throw CsiError.notFound(`${volumeId} does not exist`);
  };
  const controllerUnpublishVolume = (): object => ({});
  const controllers: NonNullable<Services["controller"]>[] = [
    {
      controllerUnpublishVolume,
      controllerGetVolume: (request) => {
        find(request);
        return { volume: { volumeId: request.volumeId }, status: {} };
      },
    },
    {
      controllerUnpublishVolume,
      validateVolumeCapabilities: (request) => {
        find(request);
        return { message: "no volume of this driver is mounted" };
      },
    },
  ];
  for (const controller of controllers) {
    const { client } = await pair(t, { controller });
    await client.controller.controllerUnpublishVolume({ volumeId: "gone" });
    const { controllerUnpublishVolume: unpublish } = client.v0.controller;
    await assert.rejects(unpublish({ volumeId: "gone" }), fails("NOT_FOUND", /gone does not exist/));
    await unpublish({ volumeId: "known" });
  }
});

test("a handler sees that its caller uses csi.v0", async (t) => {
  const protocols: unknown[] = [];
  const { client } = await pair(t, {
    controller: {
      deleteVolume: (_, { protocol, method }) => {
        protocols.push([protocol, method]);
        return {};
      },
    },
  });
  await client.v0.controller.deleteVolume({ volumeId: "v" });
  await client.controller.deleteVolume({ volumeId: "v" });
  const method = "csi.v1.Controller/DeleteVolume";
  assert.deepEqual(protocols, [
    ["csi.v0", method],
    [undefined, method],
  ]);
});

test("ValidateVolumeCapabilities of csi.v0 says supported or why not", async (t) => {
  covers("CSI-182");
  const confirmed = { confirmed: { volumeCapabilities: [] } };
  for (const [response, supported] of [
    [confirmed, true],
    [{ message: "no" }, false],
  ] as const) {
    const { client } = await pair(t, recorder({ validateVolumeCapabilities: response }).services);
    const request = { volumeId: "v", volumeCapabilities: [mounted] };
    assert.equal((await client.v0.controller.validateVolumeCapabilities(request)).supported, supported);
  }
});

test("field rules and the codes of handlers apply to csi.v0 too", async (t) => {
  covers("CSI-029");
  const { client } = await pair(t, {
    controller: {
      createVolume: () => ({}),
      deleteVolume: () => {
        throw CsiError.failedPrecondition("in use");
      },
    },
  });
  await assert.rejects(
    client.v0.controller.deleteVolume({}),
    fails("INVALID_ARGUMENT", /volume_id is required/),
  );
  await assert.rejects(
    client.v0.controller.deleteVolume({ volumeId: "v" }),
    fails("FAILED_PRECONDITION", /in use/),
  );
  const future = { accessType: mounted.accessType, accessMode: { mode: 7 } };
  const request = { name: "n", volumeCapabilities: [future] };
  await assert.rejects(client.v0.controller.createVolume(request), fails("INVALID_ARGUMENT", /mode/));
  await assert.rejects(client.v0.controller.listVolumes({}), fails("UNIMPLEMENTED"));
});

test("csi.v0 and csi.v1 share one lock on a volume", async (t) => {
  let finish: (() => void) | undefined;
  const { client } = await pair(t, {
    controller: {
      deleteVolume: async () => {
        await new Promise<void>((resolve) => {
          finish = resolve;
        });
        return {};
      },
      controllerExpandVolume: () => ({ capacityBytes: 1n }),
    },
  });
  const first = client.v0.controller.deleteVolume({ volumeId: "v" });
  while (finish === undefined) await new Promise((resolve) => setImmediate(resolve));
  const joined = client.controller.deleteVolume({ volumeId: "v" });
  const expand = { volumeId: "v", capacityRange: { requiredBytes: 1n } };
  await assert.rejects(client.controller.controllerExpandVolume(expand), fails("ABORTED"));
  finish();
  await Promise.all([first, joined]);
});
