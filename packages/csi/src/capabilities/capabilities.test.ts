import assert from "node:assert/strict";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { addons, CsiError, v1 } from "../index.ts";
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

test("own responses about capabilities win", async (t) => {
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

const group = () => ({ volumeGroup: { volumeGroupId: "vg" } });
/** The optional calls of volumegroup.Controller by the capability that announces them. */
const OPTIONAL = {
  MODIFY_VOLUME_GROUP: { modifyVolumeGroupMembership: group },
  GET_VOLUME_GROUP: { controllerGetVolumeGroup: group },
  LIST_VOLUME_GROUPS: { listVolumeGroups: () => ({ entries: [] }) },
};
const ALWAYS = { createVolumeGroup: group, deleteVolumeGroup: nothing };
const names = Object.keys(OPTIONAL) as (keyof typeof OPTIONAL)[];
/** All eight sets of them; undefined: no groups at all. */
const CHOICES = [
  undefined,
  ...Array.from({ length: 8 }, (_, bits) => names.filter((_name, n) => bits & (1 << n))),
];

test("each call about volume groups is served just where its own capability is announced", async (t) => {
  covers("GRP-003", "GRP-028", "GRP-039", "GRP-044", "GRP-058", "GRP-065", "GRP-077");
  for (const chosen of CHOICES) {
    const volumeGroup = Object.assign({}, ALWAYS, ...(chosen ?? []).map((name) => OPTIONAL[name]));
    const { client } = await pair(t, { controller: {}, ...(chosen === undefined ? {} : { volumeGroup }) });
    const response = await client.addonsIdentity.getCapabilities({}).catch((error: unknown) => {
      if (chosen === undefined && fails("UNIMPLEMENTED")(error)) return { capabilities: [] };
      throw error;
    });
    const reported = response.capabilities.flatMap(({ type }) =>
      type.case === "volumeGroup" ? [addons.Capability_VolumeGroup_Type[type.value.type]] : [],
    );
    assert.deepEqual(reported, chosen === undefined ? [] : ["VOLUME_GROUP", ...chosen]);
    const { volumeGroup: groups } = client;
    const volumeGroupId = "vg";
    const calls: [capability: string, call: () => Promise<unknown>][] = [
      ["VOLUME_GROUP", () => groups.createVolumeGroup({ name: "g" })],
      ["VOLUME_GROUP", () => groups.deleteVolumeGroup({ volumeGroupId })],
      ["MODIFY_VOLUME_GROUP", () => groups.modifyVolumeGroupMembership({ volumeGroupId })],
      ["GET_VOLUME_GROUP", () => groups.controllerGetVolumeGroup({ volumeGroupId })],
      ["LIST_VOLUME_GROUPS", () => groups.listVolumeGroups({})],
    ];
    for (const [capability, call] of calls) {
      const code = await call().then(
        () => "OK",
        (error: unknown) => (error instanceof CsiError ? error.codeName : String(error)),
      );
      assert.equal(
        code,
        reported.includes(capability) ? "OK" : "UNIMPLEMENTED",
        `${capability} of ${reported.join()}`,
      );
    }
  }
});

test("volume groups are announced by a plugin that can make them and delete them, and by no other", async (t) => {
  covers("GRP-003");
  for (const missing of Object.keys(ALWAYS)) {
    const handlers = Object.entries(ALWAYS).filter(([name]) => name !== missing);
    const { client } = await pair(t, { controller: {}, volumeGroup: Object.fromEntries(handlers) });
    const { capabilities } = await client.addonsIdentity.getCapabilities({});
    assert.ok(!capabilities.some(({ type }) => type.case === "volumeGroup"), `without ${missing}`);
  }
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
