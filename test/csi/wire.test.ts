import assert from "node:assert/strict";
import { test } from "node:test";
import { create, type DescMethod, fromBinary, toBinary } from "@bufbuild/protobuf";
import { addons, v0, v1, volumegroup } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { startDriver } from "./support/driver.ts";
import { capability, codeOf, fails, MIB, remove, staged } from "./support/volumes.ts";
import { wireCall } from "./support/wire.ts";

const driver = await startDriver({ logLevel: "debug" });
const call = (path: string, bytes: Uint8Array) => wireCall(driver.socket, path, bytes);
const pathOf = (method: DescMethod) => `/${method.parent.typeName}/${method.name}`;
const EMPTY = new Uint8Array();

const SERVED = [
  ...[v1.Identity, v1.Controller, v1.Node, v1.GroupController, v1.SnapshotMetadata],
  ...[v0.Identity, v0.Controller, v0.Node, addons.Identity],
  volumegroup.Controller,
];

test("a client of raw HTTP/2 frames gets the same responses as the typed one", async () => {
  covers("CSI-002", "CSI-027");
  const response = await call("/csi.v1.Identity/GetPluginInfo", EMPTY);
  assert.equal(response.status, 0);
  const info = fromBinary(v1.GetPluginInfoResponseSchema, response.messages[0] ?? EMPTY);
  assert.deepEqual(info, await driver.client.identity.getPluginInfo({}));
});

for (const service of SERVED) {
  test(`${service.typeName}: every method is registered; an empty request is OK or a clean refusal`, async () => {
    covers("CSI-012", "CSI-017", "CSI-029", "CSI-033", "CSI-034", "CSI-035");
    for (const method of service.methods) {
      const { status, message, headers } = await call(pathOf(method), EMPTY);
      const required =
        method.input.fields.length > 0 &&
        !/^(List|GetCapacity|Probe|ControllerList|NodeGetStorageHealth)/.test(method.name);
      assert.equal(status, required ? 3 : 0, `${method.name}: ${message}`);
      assert.equal(headers["grpc-status-details-bin"], undefined, "status.details stays empty");
      if (status !== 0) assert.match(message, / is required/);
    }
  });
}

test("what is not served is UNIMPLEMENTED with a text", async () => {
  covers("CSI-012", "CSI-128", "CSI-349");
  for (const path of [
    "/replication.Controller/PromoteVolume",
    "/csi.v1.Node/NodeFly",
    "/csi.v9.Identity/Probe",
  ]) {
    const { status, message } = await call(path, EMPTY);
    assert.equal(status, 12, path);
    assert.notEqual(message, "");
  }
});

test("each capability of the controller is the methods it stands for, and none is unknown", async () => {
  covers("CSI-198", "CSI-197", "CSI-242");
  const { capabilities } = await driver.controller.controllerGetCapabilities({});
  const types = capabilities.map(({ type }) => (type.case === "rpc" ? type.value.type : 0));
  const { ControllerServiceCapability_RPC_Type: Rpc } = v1;
  const METHODS: readonly [number, DescMethod][] = [
    [Rpc.CREATE_DELETE_VOLUME, v1.Controller.method.createVolume],
    [Rpc.CREATE_DELETE_VOLUME, v1.Controller.method.deleteVolume],
    [Rpc.PUBLISH_UNPUBLISH_VOLUME, v1.Controller.method.controllerPublishVolume],
    [Rpc.PUBLISH_UNPUBLISH_VOLUME, v1.Controller.method.controllerUnpublishVolume],
    [Rpc.LIST_VOLUMES, v1.Controller.method.listVolumes],
    [Rpc.GET_CAPACITY, v1.Controller.method.getCapacity],
    [Rpc.CREATE_DELETE_SNAPSHOT, v1.Controller.method.createSnapshot],
    [Rpc.CREATE_DELETE_SNAPSHOT, v1.Controller.method.deleteSnapshot],
    [Rpc.LIST_SNAPSHOTS, v1.Controller.method.listSnapshots],
    [Rpc.EXPAND_VOLUME, v1.Controller.method.controllerExpandVolume],
    [Rpc.GET_VOLUME, v1.Controller.method.controllerGetVolume],
    [Rpc.MODIFY_VOLUME, v1.Controller.method.controllerModifyVolume],
    [Rpc.GET_SNAPSHOT, v1.Controller.method.getSnapshot],
    [Rpc.GET_VOLUME_HEALTH, v1.Controller.method.controllerGetVolumeHealth],
    [Rpc.LIST_VOLUME_HEALTH, v1.Controller.method.controllerListVolumeHealth],
  ];
  for (const [type, method] of METHODS) {
    const { status } = await call(pathOf(method), EMPTY);
    assert.equal(types.includes(type), status !== 12, method.name);
  }
  assert.equal(new Set(types).size, types.length);
  for (const type of types) assert.ok(Rpc[type] !== undefined && type !== 0, String(type));
});

test("everything that CSI is for is one of its methods, and nothing else is", () => {
  covers("CSI-004", "CSI-003");
  const names = SERVED.slice(0, 3).flatMap(({ methods }) => methods.map(({ name }) => name));
  for (const name of ["CreateVolume", "ControllerPublishVolume", "NodePublishVolume", "CreateSnapshot"]) {
    assert.ok(names.includes(name));
  }
  assert.deepEqual(
    names.filter((name) => /Revert|Rollback|Grade|Auth|Install/.test(name)),
    [],
  );
});

test("limits are in bytes of UTF-8: 128 for strings, 4 KiB for maps", async () => {
  covers("CSI-021", "CSI-022");
  const createVolume = (more: object) =>
    driver.controller.createVolume({ name: "n", volumeCapabilities: [capability()], ...more });
  await fails("INVALID_ARGUMENT", createVolume({ name: "n".repeat(129) }), /129 bytes/);
  await fails("INVALID_ARGUMENT", createVolume({ name: "\u00e9".repeat(65) }), /130 bytes/);
  const { volume } = await createVolume({ name: "\u00e9".repeat(64) });
  await remove(driver, volume?.volumeId ?? "");
  await fails("INVALID_ARGUMENT", driver.controller.deleteVolume({ volumeId: "v".repeat(129) }), /volume_id/);
  const key = "csi.storage.k8s.io/x";
  const fits = await createVolume({ name: "fits", parameters: { [key]: "v".repeat(4096 - key.length) } });
  await remove(driver, fits.volume?.volumeId ?? "");
  await fails(
    "INVALID_ARGUMENT",
    createVolume({ parameters: { [key]: "v".repeat(4097 - key.length) } }),
    /4097/,
  );
  await fails("INVALID_ARGUMENT", createVolume({ secrets: { key: "v".repeat(4094) } }), /secrets/);
});

test("secrets: keys of letters, digits, '-', '_' and '.'; values are strings", async () => {
  covers("CSI-036", "CSI-037");
  const createVolume = (secrets: Record<string, string>) =>
    driver.controller.createVolume({ name: "secret", volumeCapabilities: [capability()], secrets });
  for (const key of ["a/b", "a b", "\u00e9", "a:b", ""]) {
    const message = await fails("INVALID_ARGUMENT", createVolume({ [key]: "planted-value" }), /secrets/);
    assert.doesNotMatch(message, /planted-value/);
  }
  const { volume } = await createVolume({ "A-b_c.9": Buffer.from([0xff, 0x00]).toString("base64") });
  await remove(driver, volume?.volumeId ?? "");
  const good = toBinary(
    v1.DeleteVolumeRequestSchema,
    create(v1.DeleteVolumeRequestSchema, { volumeId: "v-x", secrets: { key: "~~~~" } }),
  );
  const bad = Buffer.from(good);
  bad.fill(0xff, bad.indexOf("~~~~"), bad.indexOf("~~~~") + 4);
  assert.equal((await call("/csi.v1.Controller/DeleteVolume", good)).status, 0);
  const { status, message } = await call("/csi.v1.Controller/DeleteVolume", bad);
  assert.equal(status, 3, message);
  assert.equal((await call("/csi.v1.Controller/DeleteVolume", Buffer.from("not protobuf"))).status, 3);
});

test("all methods take all secrets; none is logged, at the most talkative level either", async () => {
  covers("CSI-040", "CSI-333", "CSI-099", "CSI-331");
  const secrets = { user: "planted-user-secret", "tls.key": "planted-key-secret" };
  const volume = await staged(driver, "secrets", { secrets, size: 320n * MIB });
  const target = driver.path("secrets");
  await volume.publish(target, { secrets });
  const { controller, node } = driver;
  const volumeId = volume.id;
  const capacityRange = { requiredBytes: 400n * MIB };
  await controller.controllerExpandVolume({ volumeId, capacityRange, secrets });
  await controller.validateVolumeCapabilities({ volumeId, volumeCapabilities: [capability()], secrets });
  const { snapshot } = await controller.createSnapshot({ name: "s", sourceVolumeId: volumeId, secrets });
  await controller.listSnapshots({ secrets });
  await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "", secrets });
  await node.nodeExpandVolume({ volumeId, volumePath: target, secrets });
  await volume.unpublish(target);
  await volume.undo();
  assert.equal(await codeOf(controller.deleteVolume({ volumeId: "", secrets })), "INVALID_ARGUMENT");
  assert.match(driver.output, /NodePublishVolume/, "the calls were logged");
  assert.doesNotMatch(driver.output, /planted-(user|key)-secret/);
});
