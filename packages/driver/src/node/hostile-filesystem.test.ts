import assert from "node:assert/strict";
import { lstat, open, stat } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { thorough } from "@mooring/store/testing";
import { capability, codeOf, createVolume, MIB, stage, startWorld, type World } from "../testing/world.ts";

/** What somebody writes to a raw volume; a copy of it is used with a file system then, as an administrator may allow. */
let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

const BLOCK = { access: "block" } as const;
const EXT4 = { fsType: "ext4" } as const;

/** A volume to mount whose bytes are what `write` has put on a raw one. */
async function copyOf(name: string, write: (device: string) => Promise<unknown>): Promise<string> {
  const raw = await createVolume(world, `${name}-raw`, { ...BLOCK, size: 64n * MIB });
  const { undo } = await stage(world, raw, BLOCK);
  const { path: device } = (await world.loopOf(raw)) ?? assert.fail("no device");
  await world.host.exec.run("mkfs.ext4", ["-q", device]);
  await write(device);
  await undo();
  const { controller } = world.client;
  const { snapshot } = await controller.createSnapshot({ sourceVolumeId: raw, name: `${name}-snapshot` });
  const value = { snapshotId: snapshot?.snapshotId ?? "" };
  const { volume } = await controller.createVolume({
    name,
    capacityRange: { requiredBytes: 64n * MIB },
    volumeCapabilities: [capability(EXT4)],
    volumeContentSource: { type: { case: "snapshot", value } },
  });
  return volume?.volumeId ?? assert.fail("no volume");
}

const tune =
  (...args: string[]) =>
  (device: string) =>
    world.host.exec.run("tune2fs", [...args, device]);

for (const [how, write] of [
  ["its policy", tune("-e", "panic")],
  ["mount options of its own", tune("-E", "mount_opts=errors=panic")],
] as const) {
  test(`an ext4 that asks for a panic by ${how} does not get one`, thorough(), async () => {
    const id = await copyOf(`panic-${how.replaceAll(" ", "-")}`, write);
    for (const time of ["first", "second"]) {
      const { path, undo } = await stage(world, id, EXT4);
      const mount = (await world.host.mounts.at(path)).at(-1);
      // What the kernel shows is what it does: it names the policy where it is not the one of the superblock.
      assert.ok(mount?.superOptions.includes("errors=remount-ro"), `${time}: ${mount?.superOptions}`);
      await undo();
    }
  });
}

test("an ext4 that needs repair by hand is not mounted, the first time neither", thorough(), async () => {
  const id = await copyOf("faulty", async (device) => {
    // As the kernel leaves it that has found a fault: the next check is a whole one.
    for (const command of ["set_super_value state 2", "clri <2>"])
      await world.host.exec.run("debugfs", ["-w", "-R", command, device]);
  });
  assert.equal(await codeOf(stage(world, id, EXT4)), "DATA_LOSS");
});

/** Writes a number into the superblock, which has no sum over it then. */
const count = (at: number, value: number) => async (device: string) => {
  await world.host.exec.run("tune2fs", ["-O", "^metadata_csum", device]);
  const file = await open(device, "r+");
  const bytes = Buffer.alloc(4);
  bytes.writeUInt32LE(value);
  await file.write(bytes, 0, 4, 1024 + at);
  await file.sync();
  await file.close();
};

for (const [what, at, value] of [
  ["blocks than its device has", 0x4, 0xffff_ffff],
  ["inodes than there can be", 0x0, 0xffff_ffff],
  ["blocks in a group than there can be", 0x20, 0xffff_ffff],
  ["bytes in a block than there can be", 0x18, 0xffff_ffff],
  ["bytes in an inode than there can be", 0x58, 0xffff],
] as const) {
  test(
    `an ext4 that says that it has more ${what} is not mounted, and hurts no other volume`,
    thorough(),
    async () => {
      const id = await copyOf(`huge-${at}`, count(at, value));
      assert.notEqual(await codeOf(stage(world, id, EXT4)), "OK");
      const other = await createVolume(world, `beside-${at}`, { ...EXT4, size: 64n * MIB });
      const { undo } = await stage(world, other, EXT4);
      await undo();
    },
  );
}

test("links, devices and set-user-id programs of a file system lead nowhere", thorough(), async () => {
  const id = await copyOf("full", async (device) => {
    const commands = ["rmdir lost+found", "symlink lost+found /etc", "symlink data /", "mknod disk b 7 0"];
    const own = ["write /bin/true shell", "set_inode_field shell mode 0104755"];
    for (const command of [...commands, ...own])
      await world.host.exec.run("debugfs", ["-w", "-R", command, device]);
  });
  const before = await stat("/etc");
  const { path, undo } = await stage(world, id, EXT4);
  assert.equal((await lstat(join(path, "lost+found"))).isSymbolicLink(), true);
  const { client } = world;
  const stats = await client.node.nodeGetVolumeStats({
    volumeId: id,
    volumePath: path,
    stagingTargetPath: path,
  });
  assert.equal(stats.volumeCondition?.abnormal ?? false, false);
  await undo();
  const { mode, uid, gid, ctimeMs } = await stat("/etc");
  assert.deepEqual([mode, uid, gid, ctimeMs], [before.mode, before.uid, before.gid, before.ctimeMs]);
});
