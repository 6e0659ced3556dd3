import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { addons, CsiError } from "@mooring/csi";
import { defined } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { codeOf, createVolume, MIB, startWorld, type World } from "../testing/world.ts";

const { DO_NOT_ALLOW_VG_TO_DELETE_VOLUMES: KEEPS } = addons.Capability_VolumeGroup_Type;
const worlds: World[] = [];
before(async () => {
  for (const keepGroupVolumes of [false, true]) {
    worlds.push(await startWorld({ pool: "directory", keepGroupVolumes }));
  }
});
after(() => Promise.all(worlds.map((world) => world.end())));

const volumes = (world: World, names: string[]) =>
  Promise.all(names.map((name) => createVolume(world, name, { size: 64n * MIB })));
const group = async ({ client }: World, name: string, volumeIds: string[], deleteVolumes?: string) => {
  const parameters = deleteVolumes === undefined ? undefined : { deleteVolumes };
  const request = { name, volumeIds, ...defined({ parameters }) };
  const { volumeGroup } = await client.volumeGroup.createVolumeGroup(request);
  return volumeGroup;
};
const announced = async ({ client }: World) => {
  const { capabilities } = await client.addonsIdentity.getCapabilities({});
  return capabilities.some(({ type }) => type.case === "volumeGroup" && type.value.type === KEEPS);
};

/** With the volumes in it the group is kept, and so are they; without them it goes, and they stay. */
async function keeps(world: World, volumeGroupId: string, ids: string[]): Promise<void> {
  const { volumeGroup: groups, controller } = world.client;
  const error = await groups.deleteVolumeGroup({ volumeGroupId }).catch((thrown: unknown) => thrown);
  assert.ok(error instanceof CsiError);
  assert.equal(error.code, 9);
  assert.match(error.message, /this group never deletes its volumes/);
  const reasons = error.violations.map(({ field, reason }) => [field, reason]);
  assert.deepEqual(
    reasons,
    ids.map((_, index) => [`volume_ids[${index}]`, "VOLUME_NOT_DELETED"]),
  );
  const got = await groups.controllerGetVolumeGroup({ volumeGroupId });
  assert.equal(got.volumeGroup?.volumes.length, ids.length);
  await groups.modifyVolumeGroupMembership({ volumeGroupId });
  await groups.deleteVolumeGroup({ volumeGroupId });
  assert.equal(await codeOf(groups.controllerGetVolumeGroup({ volumeGroupId })), "NOT_FOUND");
  for (const volumeId of ids) {
    assert.equal((await controller.controllerGetVolume({ volumeId })).volume?.volumeId, volumeId);
    await controller.deleteVolume({ volumeId });
  }
}

test("a driver whose groups delete their volumes does not announce the contrary; a single group shows it in its context", async () => {
  covers("GRP-083", "GRP-080");
  const [world] = worlds;
  assert.ok(world);
  assert.equal(await announced(world), false);
  const ids = await volumes(world, ["one", "two"]);
  const deleting = await group(world, "deleting", ids, "true");
  assert.equal(deleting?.volumeGroupContext["deleteVolumes"], "true");
  const { volumeGroup: groups, controller } = world.client;
  await groups.deleteVolumeGroup({ volumeGroupId: deleting?.volumeGroupId ?? "" });
  assert.deepEqual((await controller.listVolumes({})).entries, []);
  const others = await volumes(world, ["three", "four"]);
  const keeping = await group(world, "keeping", others, "false");
  assert.equal(keeping?.volumeGroupContext["deleteVolumes"], "false");
  await keeps(world, keeping?.volumeGroupId ?? "", others);
});

test("a driver that is started to keep the volumes of groups announces it, and no group deletes one", async () => {
  covers("GRP-083");
  const [, world] = worlds;
  assert.ok(world);
  assert.equal(await announced(world), true);
  const ids = await volumes(world, ["one", "two"]);
  assert.equal(await codeOf(group(world, "wishful", ids, "true")), "INVALID_ARGUMENT");
  const made = await group(world, "kept", ids);
  assert.equal(made?.volumeGroupContext["deleteVolumes"], "false");
  await keeps(world, made?.volumeGroupId ?? "", ids);
});
