import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { addons, v1 } from "../index.ts";
import { fails, pair } from "../testing/serve.ts";

const nothing = (): object => ({});

test("Identity is served without being given", async (t) => {
  covers("CSI-048", "CSI-050", "CSI-053");
  const { client } = await pair(t, { controller: {}, groupController: {}, snapshotMetadata: {} });
  const { capabilities } = await client.identity.getPluginCapabilities({});
  const { CONTROLLER_SERVICE, GROUP_CONTROLLER_SERVICE, SNAPSHOT_METADATA_SERVICE } =
    v1.PluginCapability_Service_Type;
  assert.deepEqual(
    capabilities.map(({ type }) => type.value?.type),
    [CONTROLLER_SERVICE, GROUP_CONTROLLER_SERVICE, SNAPSHOT_METADATA_SERVICE],
  );
  assert.equal((await client.identity.probe({})).ready, true);
});

test("a node-only plugin announces no controller service", async (t) => {
  covers("CSI-007");
  const { client } = await pair(t, { node: {} });
  assert.deepEqual((await client.identity.getPluginCapabilities({})).capabilities, []);
});

test("a capability is announced when all of its methods are there", async (t) => {
  covers("CSI-197", "CSI-198");
  class Controller {
    capacity = 5n;
    createVolume = nothing;
    deleteVolume = nothing;
    controllerPublishVolume = nothing;
    createSnapshot = nothing;
    /** On the prototype, and with a `this`. */
    getCapacity() {
      return { availableCapacity: this.capacity };
    }
  }
  const { client } = await pair(
    t,
    { controller: new Controller() },
    { capabilities: { controller: ["CLONE_VOLUME"] } },
  );
  const { CREATE_DELETE_VOLUME, GET_CAPACITY, CLONE_VOLUME } = v1.ControllerServiceCapability_RPC_Type;
  const { capabilities } = await client.controller.controllerGetCapabilities({});
  assert.deepEqual(
    capabilities.map(({ type }) => type.value?.type),
    [CREATE_DELETE_VOLUME, GET_CAPACITY, CLONE_VOLUME],
  );
  assert.equal((await client.controller.getCapacity({})).availableCapacity, 5n);
});

test("own answers about capabilities win", async (t) => {
  const { client } = await pair(t, {
    identity: { getPluginCapabilities: nothing, probe: () => ({ ready: false }) },
    node: { nodeStageVolume: nothing, nodeUnstageVolume: nothing, nodeGetCapabilities: nothing },
  });
  assert.deepEqual((await client.identity.getPluginCapabilities({})).capabilities, []);
  assert.deepEqual((await client.node.nodeGetCapabilities({})).capabilities, []);
  assert.equal((await client.identity.probe({})).ready, false);
});

test("the volume group service is announced through the add-ons' identity", async (t) => {
  const { client } = await pair(t, {
    identity: { getPluginInfo: () => ({ name: "a.example.com", vendorVersion: "1" }) },
    controller: {},
    volumeGroup: { createVolumeGroup: nothing, deleteVolumeGroup: nothing, listVolumeGroups: nothing },
  });
  const { VOLUME_GROUP, LIST_VOLUME_GROUPS } = addons.Capability_VolumeGroup_Type;
  const { capabilities } = await client.addonsIdentity.getCapabilities({});
  assert.deepEqual(
    capabilities.map(({ type }) => [type.case, type.value?.type]),
    [
      ["service", addons.Capability_Service_Type.CONTROLLER_SERVICE],
      ["volumeGroup", VOLUME_GROUP],
      ["volumeGroup", LIST_VOLUME_GROUPS],
    ],
  );
  assert.equal((await client.addonsIdentity.getIdentity({})).name, "a.example.com");
  assert.equal((await client.addonsIdentity.probe({})).ready, true);
});

test("a plugin that stages publishes nothing without a staging path", async (t) => {
  covers("CSI-291");
  const { client } = await pair(t, {
    node: { nodeStageVolume: nothing, nodeUnstageVolume: nothing, nodePublishVolume: nothing },
  });
  const accessMode = { mode: v1.VolumeCapability_AccessMode_Mode.SINGLE_NODE_WRITER };
  const volumeCapability = { accessType: { case: "mount" as const, value: {} }, accessMode };
  const request = { volumeId: "v", targetPath: "/t", volumeCapability };
  await assert.rejects(client.node.nodePublishVolume(request), fails("FAILED_PRECONDITION", /staging/));
  await client.node.nodePublishVolume({ ...request, stagingTargetPath: "/s" });
});
