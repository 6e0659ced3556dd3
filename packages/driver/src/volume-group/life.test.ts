import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { toBinary } from "@bufbuild/protobuf";
import { REDACTED, volumegroup } from "@mooring/csi";
import type { PoolType } from "@mooring/engine";
import { covers, sample } from "@mooring/store/testing";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  MIB,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

for (const pool of sample(["xfs", "btrfs", "directory"] as PoolType[], { everyday: 1 })) {
  describe(`volume groups of real volumes in a ${pool} pool`, () => {
    let world: World;
    before(async () => {
      world = await startWorld({ pool });
    });
    after(() => world.end());

    const groups = () => world.client.volumeGroup;
    const choice = pool === "directory" ? {} : { fsType: "ext4" };
    const volumes = (names: string[]) =>
      Promise.all(names.map((name) => createVolume(world, name, { ...choice, size: 64n * MIB })));
    const group = async (name: string, volumeIds: string[] = [], parameters: Record<string, string> = {}) => {
      const { volumeGroup } = await groups().createVolumeGroup({ name, volumeIds, parameters });
      assert.ok(volumeGroup, "every OK has the group");
      return volumeGroup;
    };
    const modify = async (volumeGroupId: string, volumeIds: string[]) => {
      const { volumeGroup } = await groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds });
      assert.ok(volumeGroup, "every OK has the group");
      return volumeGroup;
    };
    const get = async (volumeGroupId: string) => {
      const { volumeGroup } = await groups().controllerGetVolumeGroup({ volumeGroupId });
      assert.ok(volumeGroup, "every OK has the group");
      return volumeGroup;
    };
    const listed = async () =>
      (await groups().listVolumeGroups({})).entries.map(({ volumeGroup }) => {
        assert.ok(volumeGroup, "every entry has the group");
        return volumeGroup;
      });
    const idsOf = ({ volumes: all }: volumegroup.VolumeGroup) => all.map(({ volumeId }) => volumeId).sort();
    const allVolumes = async () =>
      (await world.client.controller.listVolumes({})).entries.map(({ volume }) => volume?.volumeId ?? "");
    const remove = (volumeGroupId: string) => groups().deleteVolumeGroup({ volumeGroupId });

    test("an empty group first, then volumes that are made and join it", async () => {
      covers(
        "GRP-004",
        "GRP-005",
        "GRP-007",
        "GRP-008",
        "GRP-015",
        "GRP-016",
        "GRP-018",
        "GRP-039",
        "GRP-040",
        "GRP-050",
      );
      const made = await group("later");
      assert.match(made.volumeGroupId, /^vg-[0-9a-f-]{36}$/);
      assert.deepEqual(made.volumes, []);
      assert.deepEqual(await get(made.volumeGroupId), made);
      assert.deepEqual(await group("later"), made, "one name, one group");
      assert.equal((await listed()).filter((one) => one.volumeGroupId === made.volumeGroupId).length, 1);
      const [a = "", b = ""] = await volumes(["later-a", "later-b"]);
      assert.deepEqual(idsOf(await modify(made.volumeGroupId, [a])), [a]);
      const both = await modify(made.volumeGroupId, [b, a, a]);
      assert.deepEqual(idsOf(both), [a, b].sort());
      assert.deepEqual(both, await get(made.volumeGroupId), "the response is what there is");
      assert.deepEqual(await group("later"), both, "a repeat of the first call finds the group as it is");
      await remove(made.volumeGroupId);
    });

    test("a group of given volumes; every call can be repeated", async () => {
      covers("GRP-002", "GRP-006", "GRP-014", "GRP-017", "GRP-019", "GRP-060", "GRP-062");
      // The document's later ability to group volumes that exist; the wire has no field for groups from snapshots or groups.
      covers("GRP-010");
      const ids = await volumes(["given-a", "given-b"]);
      const made = await group("given", ids);
      assert.deepEqual(idsOf(made), [...ids].sort());
      const { entries } = await world.client.controller.listVolumes({});
      for (const volume of made.volumes) {
        const same = entries.find((entry) => entry.volume?.volumeId === volume.volumeId)?.volume;
        assert.deepEqual(volume, same, "a member is returned as ListVolumes returns it");
      }
      assert.deepEqual(await group("given", [...ids].reverse()), made, "the order means nothing");
      for (let round = 0; round < 2; round++) {
        assert.deepEqual(await get(made.volumeGroupId), made);
        assert.deepEqual(
          (await listed()).find((one) => one.volumeGroupId === made.volumeGroupId),
          made,
        );
      }
      const { generation, ...fixed } = made.volumeGroupContext;
      assert.equal(generation, "1");
      assert.deepEqual(fixed, { maxVolumes: "100", deleteVolumes: "true" });
      const left = await modify(made.volumeGroupId, ids.slice(1));
      assert.deepEqual(left.volumeGroupContext, { ...fixed, generation: "2" });
      assert.deepEqual(await get(made.volumeGroupId), left, "current, not as it was made");
      await remove(made.volumeGroupId);
      await remove(made.volumeGroupId);
      await world.client.controller.deleteVolume({ volumeId: ids[0] ?? "" });
    });

    test("the set that is sent is the membership; volumes that leave stay as they are", async () => {
      covers("GRP-020", "GRP-041", "GRP-042", "GRP-043", "GRP-045", "GRP-048");
      const ids = await volumes(["set-a", "set-b", "set-c"]);
      const [a = "", b = "", c = ""] = ids;
      const { volumeGroupId } = await group("set", [a, b]);
      const swapped = await modify(volumeGroupId, [b, c]);
      assert.deepEqual(idsOf(swapped), [b, c].sort());
      assert.deepEqual(await modify(volumeGroupId, [c, b]), swapped, "the same set changes nothing");
      assert.deepEqual(idsOf(await modify(volumeGroupId, [c])), [c]);
      assert.deepEqual((await modify(volumeGroupId, [])).volumes, []);
      assert.deepEqual(
        (await groups().modifyVolumeGroupMembership({ volumeGroupId })).volumeGroup?.volumes,
        [],
      );
      const there = await allVolumes();
      assert.ok(ids.every((id) => there.includes(id)));
      await remove(volumeGroupId);
      for (const volumeId of ids) await world.client.controller.deleteVolume({ volumeId });
    });

    test("a group goes with its volumes and their data, and a second time", async () => {
      covers("GRP-028", "GRP-029", "GRP-032", "GRP-035", "GRP-063");
      const ids = await volumes(["gone-a", "gone-b"]);
      const [kept = ""] = await volumes(["gone-not"]);
      const { volumeGroupId } = await group("gone", ids);
      const used = await stage(world, ids[0] ?? "", choice);
      await writeFile(join(used.path, "file"), "data", { flush: true });
      await used.undo();
      const response = await remove(volumeGroupId);
      assert.equal(toBinary(volumegroup.DeleteVolumeGroupResponseSchema, response).length, 0);
      const there = await allVolumes();
      assert.ok(ids.every((id) => !there.includes(id)));
      assert.ok(there.includes(kept), "others are left alone");
      assert.equal(await codeOf(groups().controllerGetVolumeGroup({ volumeGroupId })), "NOT_FOUND");
      assert.ok((await listed()).every((one) => one.volumeGroupId !== volumeGroupId));
      for (const id of [volumeGroupId, "vg-made-up", "no id of ours/../x"]) await remove(id);
      await world.client.controller.deleteVolume({ volumeId: kept });
    });

    test("a member is not deleted alone: it leaves first", async () => {
      covers("GRP-030", "GRP-031", "GRP-085");
      const ids = await volumes(["alone-a", "alone-b"]);
      const [a = "", b = ""] = ids;
      const { volumeGroupId } = await group("alone", ids);
      const { code, message } = await failureOf(world.client.controller.deleteVolume({ volumeId: a }));
      assert.equal(code, "FAILED_PRECONDITION");
      assert.ok(message.includes(volumeGroupId), message);
      assert.ok((await allVolumes()).includes(a));
      await modify(volumeGroupId, [b]);
      await world.client.controller.deleteVolume({ volumeId: a });
      assert.ok(!(await allVolumes()).includes(a));
      assert.deepEqual(idsOf(await get(volumeGroupId)), [b]);
      await remove(volumeGroupId);
    });

    test("a group in use is kept whole, and goes when nobody uses it", async () => {
      covers("GRP-036", "GRP-037");
      const ids = await volumes(["use-a", "use-b"]);
      const [a = "", b = ""] = ids;
      const { volumeGroupId } = await group("use", ids);
      const used = await stage(world, b, choice);
      await writeFile(join(used.path, "file"), "kept", { flush: true });
      const { code, message } = await failureOf(remove(volumeGroupId));
      assert.equal(code, "FAILED_PRECONDITION");
      assert.ok(message.includes(`volume "${b}" is in use on node`), message);
      assert.ok(!message.includes(a), message);
      assert.deepEqual(idsOf(await get(volumeGroupId)), [...ids].sort());
      assert.equal(await readFile(join(used.path, "file"), "utf8"), "kept");
      await used.undo();
      await remove(volumeGroupId);
    });

    test("snapshots stand on their own: a group goes without them, and comes back from them", async () => {
      covers("GRP-009", "GRP-037");
      const ids = await volumes(["back-a", "back-b"]);
      const { volumeGroupId } = await group("back", ids);
      const snapshots: string[] = [];
      for (const volumeId of ids) {
        const used = await stage(world, volumeId, choice);
        await writeFile(join(used.path, "file"), volumeId, { flush: true });
        await used.undo();
        const request = { name: `snap ${volumeId}`, sourceVolumeId: volumeId };
        snapshots.push((await world.client.controller.createSnapshot(request)).snapshot?.snapshotId ?? "");
      }
      await remove(volumeGroupId);
      const again = await group("back again");
      const restored: string[] = [];
      for (const snapshotId of snapshots) {
        const { volume } = await world.client.controller.createVolume({
          name: `restored ${snapshotId}`,
          capacityRange: { requiredBytes: 64n * MIB },
          volumeCapabilities: [capability(choice)],
          volumeContentSource: { type: { case: "snapshot", value: { snapshotId } } },
        });
        restored.push(volume?.volumeId ?? "");
      }
      assert.deepEqual(idsOf(await modify(again.volumeGroupId, restored)), [...restored].sort());
      for (const [index, volumeId] of restored.entries()) {
        const used = await stage(world, volumeId, choice);
        assert.equal(await readFile(join(used.path, "file"), "utf8"), ids[index]);
        await used.undo();
      }
      await remove(again.volumeGroupId);
      for (const snapshotId of snapshots) await world.client.controller.deleteSnapshot({ snapshotId });
    });

    test("groups are as they were after a restart", async () => {
      covers("GRP-002");
      const ids = await volumes(["restart-a", "restart-b"]);
      const made = await group("restart", ids);
      await world.restart();
      assert.deepEqual(await get(made.volumeGroupId), made);
      assert.deepEqual(await group("restart", ids), made);
      await remove(made.volumeGroupId);
    });

    test("secrets are taken, and never shown", async () => {
      covers("GRP-013", "GRP-034", "GRP-049", "GRP-061", "GRP-073");
      const [id = ""] = await volumes(["secret-a"]);
      const secrets = { password: "hunter2-never-shown" };
      const { volumeGroup } = await groups().createVolumeGroup({ name: "secret", volumeIds: [id], secrets });
      const volumeGroupId = volumeGroup?.volumeGroupId ?? "";
      await groups().modifyVolumeGroupMembership({ volumeGroupId, volumeIds: [id], secrets });
      await groups().controllerGetVolumeGroup({ volumeGroupId, secrets });
      await groups().listVolumeGroups({ secrets });
      const bad = { "not a key": secrets.password };
      const refusal = await failureOf(groups().createVolumeGroup({ name: "secret", secrets: bad }));
      assert.equal(refusal.code, "INVALID_ARGUMENT");
      await groups().deleteVolumeGroup({ volumeGroupId, secrets });
      const output = world.log() + refusal.message;
      assert.ok(!output.includes("hunter2"), "the secret is in the log or in a response");
      assert.ok(output.includes(REDACTED), "that there was one is shown");
    });
  });
}
