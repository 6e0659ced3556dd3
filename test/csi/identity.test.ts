import assert from "node:assert/strict";
import { readdir } from "node:fs/promises";
import { dirname } from "node:path";
import { test } from "node:test";
import { addons, v1, volumegroup } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { NODE, startDriver } from "./support/driver.ts";
import { codeOf } from "./support/volumes.ts";

const driver = await startDriver();
const { identity } = driver.client;

test("the plugin reports who it is: a domain name, a version, a small manifest", async () => {
  covers("CSI-044", "CSI-045", "CSI-046", "CSI-047");
  const { name, vendorVersion, manifest } = await identity.getPluginInfo({});
  assert.match(name, /^[a-zA-Z0-9]([-_.a-zA-Z0-9]{0,61}[a-zA-Z0-9])?$/);
  assert.ok(name.split(".").length >= 2, name);
  assert.doesNotMatch(name, /_/, "csi.v1 takes no underscore");
  assert.match(vendorVersion, /\S/);
  assert.ok(Buffer.byteLength(JSON.stringify(manifest)) <= 4096);
});

test("services are announced by the plugin, single methods by each service", async () => {
  covers("CSI-050", "CSI-309");
  const { capabilities } = await identity.getPluginCapabilities({});
  const services = capabilities.flatMap(({ type }) => (type.case === "service" ? [type.value.type] : []));
  const { CONTROLLER_SERVICE, VOLUME_ACCESSIBILITY_CONSTRAINTS, SNAPSHOT_METADATA_SERVICE } =
    v1.PluginCapability_Service_Type;
  assert.ok(services.includes(CONTROLLER_SERVICE));
  assert.ok(services.includes(VOLUME_ACCESSIBILITY_CONSTRAINTS));
  assert.ok(services.includes(SNAPSHOT_METADATA_SERVICE));
  assert.ok((await driver.controller.controllerGetCapabilities({})).capabilities.length > 0);
  assert.ok((await driver.node.nodeGetCapabilities({})).capabilities.length > 0);
});

test("Probe reports ready when the pool is open", async () => {
  covers("CSI-053", "CSI-060");
  assert.equal((await identity.probe({})).ready, true);
});

test("one socket serves all services, of this node", async () => {
  covers("CSI-013", "CSI-014", "CSI-016", "CSI-017", "CSI-312");
  assert.equal((await identity.getPluginInfo({})).name.length > 0, true);
  assert.equal((await driver.controller.listVolumes({})).entries.length, 0);
  assert.equal((await driver.node.nodeGetInfo({})).nodeId, NODE);
});

test("the CSI add-ons find the same plugin on the same socket, with the services that it has and no others", async () => {
  const { addonsIdentity, volumeGroup } = driver.client;
  const { name, vendorVersion } = await addonsIdentity.getIdentity({});
  const info = await identity.getPluginInfo({});
  assert.deepEqual([name, vendorVersion], [info.name, info.vendorVersion]);
  assert.equal((await addonsIdentity.probe({})).ready, true);
  const { capabilities } = await addonsIdentity.getCapabilities({});
  const { CONTROLLER_SERVICE, NODE_SERVICE } = addons.Capability_Service_Type;
  const services = capabilities.flatMap(({ type }) => (type.case === "service" ? [type.value.type] : []));
  assert.deepEqual(services, [CONTROLLER_SERVICE, NODE_SERVICE]);
  assert.ok(capabilities.some(({ type }) => type.case === "volumeGroup"));
  assert.equal(await codeOf(volumeGroup.listVolumeGroups({})), "OK", "what is announced is served");
  assert.ok(capabilities.every(({ type }) => type.case === "service" || type.case === "volumeGroup"));
});

test("each call of the volume group service is served where the group capability is announced", async () => {
  covers("GRP-001", "GRP-003");
  const { addonsIdentity, volumeGroup } = driver.client;
  const { capabilities } = await addonsIdentity.getCapabilities({});
  const { VOLUME_GROUP } = addons.Capability_VolumeGroup_Type;
  assert.ok(capabilities.some(({ type }) => type.case === "volumeGroup" && type.value.type === VOLUME_GROUP));
  const { typeName, methods } = volumegroup.Controller;
  assert.deepEqual(
    [typeName, methods.map(({ name }) => name).sort()],
    [
      "volumegroup.Controller",
      [
        "ControllerGetVolumeGroup",
        "CreateVolumeGroup",
        "DeleteVolumeGroup",
        "ListVolumeGroups",
        "ModifyVolumeGroupMembership",
      ],
    ],
  );
  const made = await volumeGroup.createVolumeGroup({ name: "announced" });
  const volumeGroupId = made.volumeGroup?.volumeGroupId ?? "";
  assert.equal(await codeOf(volumeGroup.modifyVolumeGroupMembership({ volumeGroupId })), "OK");
  assert.equal(await codeOf(volumeGroup.controllerGetVolumeGroup({ volumeGroupId })), "OK");
  assert.equal(await codeOf(volumeGroup.listVolumeGroups({})), "OK");
  assert.equal(await codeOf(volumeGroup.deleteVolumeGroup({ volumeGroupId })), "OK");
  assert.equal(await codeOf(volumeGroup.controllerGetVolumeGroup({ volumeGroupId })), "NOT_FOUND");
});

test("there is nothing but the socket in its folder, and the process stays between calls", async () => {
  covers("CSI-321", "CSI-329");
  const { pid } = driver.process;
  for (let n = 0; n < 3; n += 1) await identity.probe({});
  assert.deepEqual(await readdir(dirname(driver.socket)), ["csi.sock"]);
  assert.equal(driver.process.alive, true);
  assert.equal(driver.process.pid, pid);
});
