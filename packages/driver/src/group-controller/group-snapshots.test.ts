import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { create, toBinary } from "@bufbuild/protobuf";
import { Client, credentials, status } from "@grpc/grpc-js";
import { v1 } from "@mooring/csi";
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

/** A barrier that is late fails for good: room for a busy machine. */
const PATIENT = { deadlineSeconds: "60" };

for (const pool of sample(["xfs", "btrfs"] as PoolType[], { everyday: 1 })) {
  describe(`group snapshots in a ${pool} pool`, () => {
    let world: World;
    before(async () => {
      world = await startWorld({ pool });
    });
    after(() => world.end());

    const volumes = (names: string[]) =>
      Promise.all(names.map((name) => createVolume(world, name, { fsType: "ext4", size: 64n * MIB })));
    const group = async (
      name: string,
      sourceVolumeIds: string[],
      parameters: Record<string, string> = PATIENT,
    ) => {
      const { client } = world;
      const response = await client.groupController.createVolumeGroupSnapshot({
        name,
        sourceVolumeIds,
        parameters,
      });
      assert.ok(response.groupSnapshot);
      return response.groupSnapshot;
    };
    const idsOf = ({ snapshots }: v1.VolumeGroupSnapshot) => snapshots.map(({ snapshotId }) => snapshotId);
    const removeGroup = (made: v1.VolumeGroupSnapshot) =>
      world.client.groupController.deleteVolumeGroupSnapshot({
        groupSnapshotId: made.groupSnapshotId,
        snapshotIds: idsOf(made),
      });
    const removeVolumes = async (ids: string[]) => {
      for (const volumeId of ids) await world.client.controller.deleteVolume({ volumeId });
    };

    test("create, delete and get are there by their full paths", async () => {
      covers("KEP-072");
      const raw = new Client(`unix:${join(world.folder, "csi.sock")}`, credentials.createInsecure());
      const pass = (bytes: Buffer): Buffer => bytes;
      const call = (name: string, request: Uint8Array) =>
        new Promise<status>((done) => {
          const path = `/csi.v1.GroupController/${name}`;
          const bytes = Buffer.from(request);
          raw.makeUnaryRequest(path, pass, pass, bytes, (error) => done(error?.code ?? status.OK));
        });
      const methods = v1.GroupController.method;
      // Whole requests: what a field rule refuses has not come to a handler.
      const { input: creation } = methods.createVolumeGroupSnapshot;
      const { input: deletion } = methods.deleteVolumeGroupSnapshot;
      const { input: query } = methods.getVolumeGroupSnapshot;
      const group = { groupSnapshotId: "no-such-group" };
      const calls = {
        CreateVolumeGroupSnapshot: toBinary(
          creation,
          create(creation, { name: "g", sourceVolumeIds: ["v"] }),
        ),
        DeleteVolumeGroupSnapshot: toBinary(deletion, create(deletion, group)),
        GetVolumeGroupSnapshot: toBinary(query, create(query, group)),
        MoveVolumeGroupSnapshot: new Uint8Array(),
      };
      try {
        const codes = await Promise.all(Object.entries(calls).map(([name, request]) => call(name, request)));
        const { NOT_FOUND, OK, UNIMPLEMENTED } = status;
        assert.deepEqual(codes, [NOT_FOUND, OK, NOT_FOUND, UNIMPLEMENTED]);
      } finally {
        raw.close();
      }
    });

    test("the service and its capability are announced", async () => {
      covers("KEP-071");
      const { capabilities } = await world.client.identity.getPluginCapabilities({});
      const services = capabilities.flatMap(({ type }) => (type.case === "service" ? [type.value.type] : []));
      assert.ok(services.includes(v1.PluginCapability_Service_Type.GROUP_CONTROLLER_SERVICE));
      const group = await world.client.groupController.groupControllerGetCapabilities({});
      assert.deepEqual(
        group.capabilities.map(({ type }) => type.value?.type),
        [v1.GroupControllerServiceCapability_RPC_Type.CREATE_DELETE_GET_VOLUME_GROUP_SNAPSHOT],
      );
    });

    test("one name, one copy of all members at one moment; each can be restored", async () => {
      covers(
        "KEP-002",
        "KEP-014",
        "KEP-022",
        "KEP-073",
        "KEP-080",
        "KEP-081",
        "KEP-083",
        "KEP-084",
        "KEP-086",
      );
      const ids = await volumes(["data", "log"]);
      const [data = "", log = ""] = ids;
      const [one, two] = [
        await stage(world, data, { fsType: "ext4" }),
        await stage(world, log, { fsType: "ext4" }),
      ];
      await writeFile(join(one.path, "file"), "data", { flush: true });
      await writeFile(join(two.path, "file"), "log", { flush: true });
      const made = await group("both", ids);
      for (const path of [one.path, two.path]) await writeFile(join(path, "late"), "after", { flush: true });
      assert.equal(made.readyToUse, true);
      assert.deepEqual(made.snapshots.map(({ sourceVolumeId }) => sourceVolumeId).sort(), [...ids].sort());
      for (const snapshot of made.snapshots) {
        assert.equal(snapshot.groupSnapshotId, made.groupSnapshotId);
        assert.equal(snapshot.readyToUse, true);
        assert.deepEqual(snapshot.creationTime, made.creationTime);
      }
      assert.deepEqual(await group("both", [log, data]), made, "the order of the volumes means nothing");
      const got = await world.client.groupController.getVolumeGroupSnapshot({
        groupSnapshotId: made.groupSnapshotId,
        snapshotIds: idsOf(made),
      });
      assert.deepEqual(got.groupSnapshot, made);
      for (const snapshot of made.snapshots) {
        const { volume } = await world.client.controller.createVolume({
          name: `restored ${snapshot.snapshotId}`,
          capacityRange: { requiredBytes: 64n * MIB },
          volumeCapabilities: [capability({ fsType: "ext4" })],
          volumeContentSource: { type: { case: "snapshot", value: { snapshotId: snapshot.snapshotId } } },
        });
        const volumeId = volume?.volumeId ?? "";
        const copy = await stage(world, volumeId, { fsType: "ext4" });
        const expected = snapshot.sourceVolumeId === data ? "data" : "log";
        assert.equal(await readFile(join(copy.path, "file"), "utf8"), expected);
        await assert.rejects(readFile(join(copy.path, "late")), { code: "ENOENT" });
        await copy.undo();
        await removeVolumes([volumeId]);
      }
      await one.undo();
      await two.undo();
      await removeGroup(made);
      await removeVolumes(ids);
    });

    test("a group goes as a whole: members are listed with it, refused alone, gone after it", async () => {
      covers("KEP-029", "KEP-032");
      const ids = await volumes(["a", "b", "c"]);
      const made = await group("three", ids);
      const { controller, groupController } = world.client;
      const listed = (await controller.listSnapshots({})).entries.map(({ snapshot }) => snapshot);
      assert.deepEqual(listed.map((s) => s?.snapshotId).sort(), idsOf(made).sort());
      assert.ok(listed.every((s) => s?.groupSnapshotId === made.groupSnapshotId));
      const [snapshotId = "", ...others] = idsOf(made);
      assert.equal(await codeOf(controller.deleteSnapshot({ snapshotId })), "INVALID_ARGUMENT");
      assert.equal((await controller.getSnapshot({ snapshotId })).snapshot?.readyToUse, true);
      const { groupSnapshotId } = made;
      for (const snapshotIds of [[], others, [...idsOf(made), "s-strange"]]) {
        const request = { groupSnapshotId, snapshotIds };
        assert.equal(await codeOf(groupController.deleteVolumeGroupSnapshot(request)), "INVALID_ARGUMENT");
        assert.equal(await codeOf(groupController.getVolumeGroupSnapshot(request)), "INVALID_ARGUMENT");
      }
      // Members outlive their volumes.
      await removeVolumes(ids);
      assert.equal((await controller.listSnapshots({})).entries.length, 3);
      await removeGroup(made);
      await removeGroup(made);
      assert.deepEqual((await controller.listSnapshots({})).entries, []);
      const gone = { groupSnapshotId, snapshotIds: idsOf(made) };
      assert.equal(await codeOf(groupController.getVolumeGroupSnapshot(gone)), "NOT_FOUND");
    });

    test("another set or other parameters of the same name is ALREADY_EXISTS; bad requests leave nothing", async () => {
      covers("KEP-116");
      const ids = await volumes(["x", "y"]);
      const [x = "", y = ""] = ids;
      const made = await group("xy", ids);
      assert.equal(await codeOf(group("xy", [x])), "ALREADY_EXISTS");
      assert.equal(await codeOf(group("xy", ids, { deadlineSeconds: "3" })), "ALREADY_EXISTS");
      const again = await group("xy", ids, {
        ...PATIENT,
        "csi.storage.k8s.io/volumegroupsnapshot/name": "n",
      });
      assert.equal(again.groupSnapshotId, made.groupSnapshotId);
      assert.equal(await codeOf(group("new", [x, "v-unknown"])), "NOT_FOUND");
      assert.equal(await codeOf(group("new", [x, "../../etc"])), "NOT_FOUND");
      assert.equal(await codeOf(group("new", [x, x])), "INVALID_ARGUMENT");
      assert.equal(await codeOf(group("new", [])), "INVALID_ARGUMENT");
      const many = Array.from({ length: 101 }, (_, index) => `v-${index}`);
      const refused = await failureOf(group("new", many));
      assert.equal(refused.code, "INVALID_ARGUMENT");
      assert.match(refused.message, /101 volumes, at most 100/);
      for (const parameters of [
        { deadlineSeconds: "0" },
        { deadlineSeconds: "x" },
        { colour: "red" },
      ] as Record<string, string>[]) {
        assert.equal(await codeOf(group("new", [x, y], parameters)), "INVALID_ARGUMENT");
      }
      assert.equal((await world.client.controller.listSnapshots({})).entries.length, 2);
      await removeGroup(made);
      await removeVolumes(ids);
    });

    test("names, secrets and parameters: what the wire allows is taken, the rest is refused", async () => {
      covers(
        "KEP-074",
        "KEP-075",
        "KEP-076",
        "KEP-077",
        "KEP-078",
        "KEP-079",
        "KEP-082",
        "KEP-087",
        "KEP-088",
        "KEP-090",
      );
      const ids = await volumes(["m", "n"]);
      const { groupController } = world.client;
      const secrets = { "pass.word-1": "hidden-in-the-log" };
      // As Kubernetes' own suite writes its class: the policy among the parameters, too.
      const named = { "csi.storage.k8s.io/volumegroupsnapshot/name": "x", deletionPolicy: "Delete" };
      const parameters = { ...named, deadlineSeconds: "60" };
      const made: v1.VolumeGroupSnapshot[] = [];
      for (const name of ["名前 \t\n\r ü", "a".repeat(128)]) {
        const request = { name, sourceVolumeIds: ids, secrets, parameters };
        const { groupSnapshot } = await groupController.createVolumeGroupSnapshot(request);
        assert.ok(groupSnapshot);
        made.push(groupSnapshot);
      }
      assert.equal(new Set(made.map(({ groupSnapshotId }) => groupSnapshotId)).size, 2);
      for (const name of ["", "a\u0000b", "a\u0008b", "a\u007fb", "a\u009fb", "ü".repeat(65)]) {
        assert.equal(await codeOf(group(name, ids)), "INVALID_ARGUMENT", JSON.stringify(name));
      }
      assert.doesNotMatch(world.log(), /hidden-in-the-log/);
      for (const { groupSnapshotId, snapshots } of made) {
        const snapshotIds = snapshots.map(({ snapshotId }) => snapshotId);
        await groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds, secrets });
      }
      assert.equal(
        await codeOf(groupController.deleteVolumeGroupSnapshot({ groupSnapshotId: "", snapshotIds: ["s"] })),
        "INVALID_ARGUMENT",
      );
      await removeVolumes(ids);
    });

    test("two groups over the same volumes at once are both made", async () => {
      const ids = await volumes(["p", "q"]);
      const made = await Promise.all(["first", "second", "third"].map((name) => group(name, ids)));
      assert.equal(new Set(made.flatMap(idsOf)).size, 6);
      for (const one of made) await removeGroup(one);
      await removeVolumes(ids);
    });
  });
}
