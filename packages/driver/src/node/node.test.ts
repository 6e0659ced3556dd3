import assert from "node:assert/strict";
import { randomBytes } from "node:crypto";
import { mkdir, open, readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { after, before, describe, test } from "node:test";
import { v1 } from "@mooring/csi";
import {
  type CapabilityChoice,
  capability,
  codeOf,
  createVolume,
  failureOf,
  MIB,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

const WRITERS = { mode: "SINGLE_NODE_MULTI_WRITER" } as const;

describe("volumes on the node", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  const publish = (
    volumeId: string,
    staging: string,
    target: string,
    more: object = {},
    choice: CapabilityChoice = {},
  ) =>
    world.client.node.nodePublishVolume({
      volumeId,
      stagingTargetPath: staging,
      targetPath: target,
      volumeCapability: capability(choice),
      ...more,
    });
  const unpublish = (volumeId: string, targetPath: string) =>
    world.client.node.nodeUnpublishVolume({ volumeId, targetPath });
  const remove = (volumeId: string) => world.client.controller.deleteVolume({ volumeId });
  const missing = (path: string) =>
    stat(path).then(
      () => false,
      () => true,
    );

  for (const fsType of ["ext4", "xfs", "btrfs"]) {
    test(`[CSI-008] [CSI-009] [CSI-084] data on ${fsType} outlives unstage, detach and restart; it is made once`, async () => {
      const choice = { fsType };
      const id = await createVolume(world, `data ${fsType}`, choice);
      const first = await stage(world, id, choice);
      const target = world.path(`target-${fsType}`);
      await publish(id, first.path, target, {}, choice);
      const [top] = (await world.host.mounts.at(target)).slice(-1);
      assert.equal(top?.fsType, fsType);
      const content = randomBytes(100_000);
      await writeFile(join(target, "data"), content);
      await unpublish(id, target);
      assert.equal(await missing(target), true);
      await first.undo();
      await world.restart();
      const second = await stage(world, id, choice);
      assert.deepEqual(await readFile(join(second.path, "data")), content);
      await second.undo();
      await remove(id);
    });
  }

  test("[CSI-247] [CSI-251] [CSI-256] [CSI-257] [CSI-259] [CSI-260] [CSI-263] [CSI-265] staging: idempotent, and every row of its error table", async () => {
    const { node, controller } = world.client;
    const id = await createVolume(world, "staging");
    const path = world.path("staging");
    const stageAgain = (more: object = {}) =>
      node.nodeStageVolume({
        volumeId: id,
        stagingTargetPath: path,
        volumeCapability: capability(),
        ...more,
      });
    await mkdir(path);
    assert.equal(await codeOf(stageAgain()), "FAILED_PRECONDITION");
    await controller.controllerPublishVolume({
      volumeId: id,
      nodeId: world.nodeID,
      volumeCapability: capability(),
    });
    await stageAgain();
    await stageAgain();
    assert.equal((await world.host.mounts.at(path)).length, 1);
    assert.equal(await codeOf(stageAgain({ volumeCapability: capability(WRITERS) })), "ALREADY_EXISTS");
    assert.equal(await codeOf(stageAgain({ stagingTargetPath: world.path("other") })), "FAILED_PRECONDITION");
    assert.equal(await codeOf(stageAgain({ volumeId: "v-unknown" })), "NOT_FOUND");
    for (const bad of ["relative/path", "/", "/etc", "/a/../b"]) {
      assert.equal(await codeOf(stageAgain({ stagingTargetPath: bad })), "INVALID_ARGUMENT", bad);
    }
    const flags = (mountFlags: string[]) => stageAgain({ volumeCapability: capability({ mountFlags }) });
    for (const flag of ["bind", "remount", "noatime,loop", "-o", "a b", ""]) {
      assert.equal(await codeOf(flags([flag])), "INVALID_ARGUMENT", flag);
    }
    await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
    await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
    const unknown = node.nodeUnstageVolume({ volumeId: "v-unknown", stagingTargetPath: path });
    assert.equal(await codeOf(unknown), "NOT_FOUND");
    const secret = await failureOf(flags(["hunter2"]));
    assert.equal(secret.code, "INVALID_ARGUMENT");
    assert.doesNotMatch(secret.message, /hunter2/);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
    await remove(id);
  });

  test("[CSI-273] [CSI-274] [CSI-275] [CSI-276] second publish of a file system, several targets allowed: every cell", async () => {
    const id = await createVolume(world, "many", WRITERS);
    const { path, undo } = await stage(world, id, WRITERS);
    const [t1, t2, t3] = [world.path("many-1"), world.path("many-2"), world.path("many-3")];
    await publish(id, path, t1, {}, WRITERS);
    assert.equal(await codeOf(publish(id, path, t1, {}, WRITERS)), "OK");
    assert.equal(await codeOf(publish(id, path, t1, { readonly: true }, WRITERS)), "ALREADY_EXISTS");
    assert.equal(await codeOf(publish(id, path, t2, {}, WRITERS)), "OK");
    assert.equal(await codeOf(publish(id, path, t3, { readonly: true }, WRITERS)), "OK");
    await writeFile(join(t1, "seen"), "by all");
    assert.equal(await readFile(join(t3, "seen"), "utf8"), "by all");
    await assert.rejects(writeFile(join(t3, "seen"), "no"), { code: "EROFS" });
    const still = await failureOf(
      world.client.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path }),
    );
    assert.equal(still.code, "FAILED_PRECONDITION");
    for (const target of [t1, t2, t3]) await unpublish(id, target);
    await undo();
    await remove(id);
  });

  for (const mode of [
    "SINGLE_NODE_WRITER",
    "SINGLE_NODE_SINGLE_WRITER",
    "SINGLE_NODE_READER_ONLY",
  ] as const) {
    test(`[CSI-088] [CSI-270] [CSI-277] [CSI-278] [CSI-279] [CSI-280] [CSI-281] [CSI-290] second publish, ${mode}: every cell`, async () => {
      const choice = { mode };
      const id = await createVolume(world, `single ${mode}`, choice);
      const { path, undo } = await stage(world, id, choice);
      const [t1, t2] = [world.path(`${mode}-1`), world.path(`${mode}-2`)];
      await publish(id, path, t1, { secrets: { key: "one" } }, choice);
      assert.equal(await codeOf(publish(id, path, t1, { secrets: { key: "two" } }, choice)), "OK");
      assert.equal(await codeOf(publish(id, path, t1, { readonly: true }, choice)), "ALREADY_EXISTS");
      assert.equal(await codeOf(publish(id, path, t2, {}, choice)), "FAILED_PRECONDITION");
      assert.equal(await codeOf(publish(id, path, t2, { readonly: true }, choice)), "FAILED_PRECONDITION");
      assert.equal(await missing(t2), true);
      const write = writeFile(join(t1, "file"), "x");
      if (mode === "SINGLE_NODE_READER_ONLY") await assert.rejects(write, { code: "EROFS" });
      else await write;
      await unpublish(id, t1);
      await undo();
      await remove(id);
    });
  }

  test("[CSI-268] [CSI-287] [CSI-288] [CSI-291] [CSI-292] [CSI-295] publish and unpublish: rows of their error tables", async () => {
    const id = await createVolume(world, "rows");
    const { path, undo } = await stage(world, id);
    const target = world.path("rows");
    assert.equal(await codeOf(publish("v-unknown", path, target)), "NOT_FOUND");
    assert.equal(await codeOf(publish(id, "", target)), "FAILED_PRECONDITION");
    assert.equal(await codeOf(publish(id, world.path("elsewhere"), target)), "FAILED_PRECONDITION");
    assert.equal(await codeOf(publish(id, path, target, {}, { access: "block" })), "INVALID_ARGUMENT");
    assert.equal(await codeOf(publish(id, path, world.path("no/parent"))), "FAILED_PRECONDITION");
    assert.equal(await codeOf(unpublish("v-unknown", target)), "NOT_FOUND");
    assert.equal(await codeOf(unpublish(id, target)), "OK");
    await undo();
    await remove(id);
  });

  test("what is not ours is never unmounted, and what somebody wrote is never removed", async () => {
    const id = await createVolume(world, "careful");
    const { path, undo } = await stage(world, id);
    const target = world.path("careful");
    await publish(id, path, target);
    await world.host.mounts.unmount(target);
    await writeFile(join(target, "stray"), "data");
    const { code, message } = await failureOf(unpublish(id, target));
    assert.equal(code, "FAILED_PRECONDITION");
    assert.match(message, /stray/);
    await world.host.exec.run("rm", [join(target, "stray")]);
    await unpublish(id, target);
    const foreign = world.path("foreign");
    await mkdir(foreign);
    await world.host.exec.run("mount", ["-t", "tmpfs", "tmpfs", foreign]);
    assert.equal(await codeOf(unpublish(id, foreign)), "FAILED_PRECONDITION");
    assert.equal((await world.host.mounts.at(foreign)).length, 1);
    await world.host.mounts.unmount(foreign);
    await undo();
    await remove(id);
  });

  test("mounts are undone by what mountinfo says, also when the records of this node are lost", async () => {
    const block = { access: "block", mode: "SINGLE_NODE_MULTI_WRITER" } as const;
    const [id, raw] = [await createVolume(world, "lost"), await createVolume(world, "lost block", block)];
    const [mounted, device] = [await stage(world, id), await stage(world, raw, block)];
    const [target, node] = [world.path("lost"), world.path("lost-block")];
    await publish(id, mounted.path, target);
    await publish(raw, device.path, node, {}, block);
    await rm(join(world.folder, "state", "node-volumes"), { recursive: true });
    for (const [volumeId, path] of [
      [id, target],
      [raw, node],
    ] as const) {
      await unpublish(volumeId, path);
      assert.equal(await missing(path), true);
    }
    for (const { undo } of [mounted, device]) await undo();
    for (const volumeId of [id, raw]) await remove(volumeId);
  });

  test("a target that something wrote beneath is not writable for anybody but root", async () => {
    const id = await createVolume(world, "mode");
    const { path, undo } = await stage(world, id);
    const target = world.path("mode");
    await publish(id, path, target);
    await world.host.mounts.unmount(target);
    assert.equal((await stat(target)).mode & 0o777, 0);
    await unpublish(id, target);
    await undo();
    await remove(id);
  });

  test("[CSI-084] [CSI-286] block volumes: the device itself, writable or not, and its statistics", async () => {
    const choice = { access: "block", mode: "SINGLE_NODE_MULTI_WRITER" } as const;
    const id = await createVolume(world, "block", { ...choice, size: 16n * MIB });
    const { path, undo } = await stage(world, id, choice);
    const [target, reader] = [world.path("block"), world.path("block-ro")];
    await publish(id, path, target, {}, choice);
    assert.equal((await stat(target)).isBlockDevice(), true);
    const handle = await open(target, "r+");
    await handle.write(Buffer.from("raw"), 0, 3, 8192);
    await handle.sync();
    await handle.close();
    assert.equal(await codeOf(publish(id, path, reader, { readonly: true }, choice)), "FAILED_PRECONDITION");
    const { usage } = await world.client.node.nodeGetVolumeStats({ volumeId: id, volumePath: target });
    assert.deepEqual(
      usage.map((u) => u.total),
      [16n * MIB],
    );
    await world.client.controller.controllerExpandVolume({
      volumeId: id,
      capacityRange: { requiredBytes: 32n * MIB },
    });
    const grown = await world.client.node.nodeExpandVolume({ volumeId: id, volumePath: target });
    assert.equal(grown.capacityBytes, 32n * MIB);
    await unpublish(id, target);
    await publish(id, path, reader, { readonly: true }, choice);
    const locked = await open(reader, "r+").catch(() => undefined);
    if (locked !== undefined) {
      await assert.rejects(locked.write(Buffer.alloc(4096), 0, 4096, 0), { code: "EPERM" });
      await locked.close();
    }
    await unpublish(id, reader);
    assert.equal(await missing(reader), true);
    await undo();
    await remove(id);
  });

  test("[CSI-089] a read-only publication by the controller is read-only on the node", async () => {
    const { controller, node } = world.client;
    const id = await createVolume(world, "read-only");
    await (await stage(world, id)).undo();
    const volumeCapability = capability();
    const { publishContext } = await controller.controllerPublishVolume({
      ...{ volumeId: id, nodeId: world.nodeID, volumeCapability, readonly: true },
    });
    const [path, target] = [world.path("ro-staging"), world.path("ro-target")];
    await node.nodeStageVolume({ volumeId: id, stagingTargetPath: path, volumeCapability, publishContext });
    await publish(id, path, target, { publishContext });
    await assert.rejects(writeFile(join(target, "file"), "x"), { code: "EROFS" });
    await unpublish(id, target);
    await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
    assert.equal(await missing(path), true);
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
    await remove(id);
  });

  for (const fsType of ["xfs", "btrfs"]) {
    test(`${fsType} grows while it is written to`, async () => {
      const choice = { fsType };
      const id = await createVolume(world, `grow ${fsType}`, choice);
      const { path, undo } = await stage(world, id, choice);
      const target = world.path(`grow-${fsType}`);
      await publish(id, path, target, {}, choice);
      const total = async () => {
        const { usage, volumeCondition } = await world.client.node.nodeGetVolumeStats({
          volumeId: id,
          volumePath: target,
        });
        assert.equal(volumeCondition?.abnormal, false);
        return usage.find((u) => u.unit === v1.VolumeUsage_Unit.BYTES)?.total ?? 0n;
      };
      const small = await total();
      await world.client.controller.controllerExpandVolume({
        volumeId: id,
        capacityRange: { requiredBytes: 640n * MIB },
      });
      const grow = () => world.client.node.nodeExpandVolume({ volumeId: id, volumePath: target });
      assert.equal((await grow()).capacityBytes, 640n * MIB);
      assert.equal((await grow()).capacityBytes, 640n * MIB);
      assert.ok((await total()) >= small + 300n * MIB);
      await unpublish(id, target);
      await undo();
      await remove(id);
    });
  }

  test("ext4 in use grows, or says what the kernel misses and grows at the next stage", async () => {
    const choice = { fsType: "ext4" };
    const id = await createVolume(world, "grow ext4 online", { ...choice, size: 64n * MIB });
    const first = await stage(world, id, choice);
    const { controller, node } = world.client;
    await controller.controllerExpandVolume({ volumeId: id, capacityRange: { requiredBytes: 256n * MIB } });
    const grow = await failureOf(node.nodeExpandVolume({ volumeId: id, volumePath: first.path }));
    if (grow.code !== "OK") {
      assert.equal(grow.code, "FAILED_PRECONDITION");
      assert.match(grow.message, /CAP_SYS_RESOURCE/);
    }
    await writeFile(join(first.path, "still"), "usable");
    await first.undo();
    const second = await stage(world, id, choice);
    const { usage } = await node.nodeGetVolumeStats({ volumeId: id, volumePath: second.path });
    assert.ok((usage[0]?.total ?? 0n) > 200n * MIB);
    await second.undo();
    await remove(id);
  });

  test("ext4 that was grown while detached is larger at the next stage", async () => {
    const choice = { fsType: "ext4" };
    const id = await createVolume(world, "grow ext4", { ...choice, size: 64n * MIB });
    await (await stage(world, id, choice)).undo();
    await world.client.controller.controllerExpandVolume({
      volumeId: id,
      capacityRange: { requiredBytes: 256n * MIB },
    });
    const { path, undo } = await stage(world, id, choice);
    const { usage } = await world.client.node.nodeGetVolumeStats({ volumeId: id, volumePath: path });
    assert.ok((usage[0]?.total ?? 0n) > 200n * MIB);
    await undo();
    await remove(id);
  });

  test("mutable parameters: all or none, at once and again after the next stage", async () => {
    const { controller } = world.client;
    const id = await createVolume(world, "mutable");
    const first = await stage(world, id);
    const readAhead = async () => {
      const loop = (await world.host.loops.list()).find((entry) => entry.backingFile.includes(id));
      return (await readFile(`/sys/block/${basename(loop?.path ?? "")}/queue/read_ahead_kb`, "utf8")).trim();
    };
    const modify = (mutableParameters: Record<string, string>, volumeId = id) =>
      controller.controllerModifyVolume({ volumeId, mutableParameters });
    await modify({ readAheadKiB: "4096" });
    assert.equal(await readAhead(), "4096");
    assert.equal(await codeOf(modify({ readAheadKiB: "64", colour: "red" })), "INVALID_ARGUMENT");
    assert.equal(await codeOf(modify({ readAheadKiB: "64" }, "v-unknown")), "NOT_FOUND");
    assert.equal(await readAhead(), "4096");
    await first.undo();
    await modify({ readAheadKiB: "512" });
    const second = await stage(world, id);
    assert.equal(await readAhead(), "512");
    await second.undo();
    await remove(id);
  });

  test("[CSI-037] [CSI-040] [CSI-333] the same secrets may come with every call, and are in no log line", async () => {
    const { controller, node } = world.client;
    const secrets = { "user.key_1": "hunter2-secret", other: "aHVudGVyMg==" };
    const volumeCapability = capability({ mountFlags: ["noatime"] });
    const { volume } = await controller.createVolume({
      name: "secret",
      volumeCapabilities: [volumeCapability],
      secrets,
    });
    const volumeId = volume?.volumeId ?? "";
    const [stagingTargetPath, targetPath] = [world.path("secret-staging"), world.path("secret")];
    await controller.controllerPublishVolume({ volumeId, nodeId: world.nodeID, volumeCapability, secrets });
    await node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability, secrets });
    await node.nodePublishVolume({ volumeId, stagingTargetPath, targetPath, volumeCapability, secrets });
    const { snapshot } = await controller.createSnapshot({
      name: "secret",
      sourceVolumeId: volumeId,
      secrets,
    });
    await node.nodeUnpublishVolume({ volumeId, targetPath });
    await node.nodeUnstageVolume({ volumeId, stagingTargetPath });
    await controller.controllerUnpublishVolume({ volumeId, nodeId: world.nodeID, secrets });
    await controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "", secrets });
    await controller.deleteVolume({ volumeId, secrets });
    assert.match(world.log(), /NodeStageVolume/);
    for (const secret of Object.values(secrets)) assert.equal(world.log().includes(secret), false);
  });

  test("statistics: unknown volumes and paths are NOT_FOUND, whatever the path looks like", async () => {
    const { node } = world.client;
    const id = await createVolume(world, "stats");
    assert.equal(
      await codeOf(node.nodeGetVolumeStats({ volumeId: "v-unknown", volumePath: "some/path" })),
      "NOT_FOUND",
    );
    assert.equal(await codeOf(node.nodeGetVolumeStats({ volumeId: id, volumePath: "/proc" })), "NOT_FOUND");
    assert.equal(await codeOf(node.nodeExpandVolume({ volumeId: id, volumePath: "/proc" })), "NOT_FOUND");
    await remove(id);
  });

  test("data that nobody of ours wrote is not formatted over", async () => {
    const choice = { fsType: "ext4" };
    const id = await createVolume(world, "foreign data", { ...choice, size: 16n * MIB });
    const { controller, node } = world.client;
    await controller.controllerPublishVolume({
      volumeId: id,
      nodeId: world.nodeID,
      volumeCapability: capability(choice),
    });
    const device = (await world.host.loops.list()).find((loop) => loop.backingFile.includes(id))?.path ?? "";
    await world.host.exec.run("dd", ["if=/dev/urandom", `of=${device}`, "bs=4096", "count=4", "conv=fsync"]);
    const path = world.path("foreign-data");
    const staging = () =>
      node.nodeStageVolume({ volumeId: id, stagingTargetPath: path, volumeCapability: capability(choice) });
    assert.equal(await codeOf(staging()), "FAILED_PRECONDITION");
    assert.equal(await codeOf(staging()), "FAILED_PRECONDITION");
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
    await remove(id);
  });

  test("[CSI-303] [CSI-305] [CSI-306] [CSI-307] the node says who and where it is, and how much it takes", async () => {
    const info = await world.client.node.nodeGetInfo({});
    assert.equal(info.nodeId, world.nodeID);
    assert.equal(info.maxVolumesPerNode, 1000n);
    assert.deepEqual(
      { ...info.accessibleTopology?.segments },
      { "topology.storage.mooring.dev/node": world.nodeID },
    );
  });
});

describe("volumes of a directory pool", () => {
  let world: World;
  before(async () => {
    world = await startWorld({ pool: "directory" });
  });
  after(() => world.end());

  test("a folder, bound where it is wanted; no block device and no file system to make", async () => {
    const { client } = world;
    const id = await createVolume(world, "folder");
    assert.equal(await codeOf(createVolume(world, "block", { access: "block" })), "INVALID_ARGUMENT");
    const { path, undo } = await stage(world, id);
    const targetPath = world.path("folder");
    const volumeCapability = capability();
    const publish = (readonly: boolean) =>
      client.node.nodePublishVolume({
        volumeId: id,
        stagingTargetPath: path,
        targetPath,
        volumeCapability,
        readonly,
      });
    await publish(false);
    await writeFile(join(targetPath, "file"), "kept");
    const { usage } = await client.node.nodeGetVolumeStats({ volumeId: id, volumePath: targetPath });
    assert.ok((usage[0]?.total ?? 0n) > 0n);
    await client.node.nodeUnpublishVolume({ volumeId: id, targetPath });
    await publish(true);
    await assert.rejects(writeFile(join(targetPath, "file"), "no"), { code: "EROFS" });
    await client.node.nodeUnpublishVolume({ volumeId: id, targetPath });
    await undo();
    const again = await stage(world, id);
    assert.equal(await readFile(join(again.path, "file"), "utf8"), "kept");
    await client.node.nodePublishVolume({
      ...{ volumeId: id, stagingTargetPath: again.path, targetPath, volumeCapability },
    });
    // What is mounted says whose it is, also when the records of this node are lost.
    await rm(join(world.folder, "state", "node-volumes"), { recursive: true });
    await client.node.nodeUnpublishVolume({ volumeId: id, targetPath });
    assert.deepEqual(await world.host.mounts.at(targetPath), []);
    await again.undo();
    const { snapshot } = await client.controller.createSnapshot({ name: "folder", sourceVolumeId: id });
    await client.controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "" });
    await client.controller.deleteVolume({ volumeId: id });
  });
});
