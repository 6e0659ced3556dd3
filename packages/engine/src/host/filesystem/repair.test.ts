import assert from "node:assert/strict";
import { mkdir, open, readdir, readFile, rm, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { sample } from "@mooring/store/testing";
import { MIB, scratch, sparse } from "../../testing/scratch.ts";
import { createHost } from "../create-host.ts";
import { FILESYSTEMS, type FilesystemType, makeFilesystem } from "../filesystems.ts";
import { type RepairResult, repairFilesystem } from "./repair.ts";

const host = createHost();
const { exec } = host;
const SIZES = { ext4: 128 * MIB, xfs: 400 * MIB, btrfs: 256 * MIB };
const FILES = 300;

/** A file system with files in it, unmounted, on a real loop device. */
interface Patient {
  type: FilesystemType;
  image: string;
  device: string;
  mount(): Promise<string>;
  unmount(): Promise<void>;
  repair(consent: boolean): Promise<RepairResult>;
}

async function patient(t: TestContext, type: FilesystemType): Promise<Patient> {
  const dir = await scratch(t, host);
  const image = await sparse(join(dir, "image"), SIZES[type]);
  const device = (await host.loops.attach(image)).path;
  await makeFilesystem(exec, { device, type, formatted: undefined });
  const target = join(dir, "mounted");
  await mkdir(target);
  const options = FILESYSTEMS[type].mountOptions;
  const made: Patient = {
    ...{ type, image, device },
    mount: async () => {
      await host.mounts.mount({ source: device, target, fsType: type, options });
      return target;
    },
    unmount: () => host.mounts.unmount(target),
    repair: (consent) =>
      repairFilesystem({
        ...{ exec, mounts: host.mounts, device, type, consent, scratch: join(dir, "scratch") },
      }),
  };
  await made.mount();
  for (let n = 0; n < FILES; n += 1) await writeFile(join(target, `f${n}`), `content ${n}`);
  await exec.run("sync", ["-f", target]);
  await made.unmount();
  return made;
}

/** Behind the back of the device's cache. */
async function overwrite({ image, device }: Patient, at: number, bytes: Uint8Array): Promise<void> {
  const file = await open(image, "r+");
  await file.write(bytes, 0, bytes.length, at);
  await file.sync();
  await file.close();
  await exec.run("blockdev", ["--flushbufs", device]);
}

/** How many of the files are there; every one that is has its content. */
async function survivors({ mount, unmount }: Patient): Promise<number> {
  const target = await mount();
  try {
    const names = (await readdir(target)).filter((name) => /^f\d+$/.test(name));
    for (const name of names) {
      assert.equal(await readFile(join(target, name), "utf8"), `content ${name.slice(1)}`);
    }
    return names.length;
  } finally {
    await unmount();
  }
}

const numberOf = async (file: string, args: readonly string[], pattern: RegExp): Promise<number> =>
  Number(pattern.exec((await exec.run(file, args)).stdout)?.[1]);

/** The first leaf of the tree of files: both its copies, when nobody has rewritten them since. */
async function leaves({ device, image }: Patient): Promise<number[]> {
  const bytenr = await numberOf(
    "btrfs",
    ["inspect-internal", "dump-tree", "-t", "5", device],
    /^leaf (\d+)/m,
  );
  const content = await readFile(image);
  const wanted = Buffer.alloc(8);
  wanted.writeBigUInt64LE(BigInt(bytenr));
  const found: number[] = [];
  // struct btrfs_header: checksum (32), file system's id (16), its own logical address.
  for (let at = 0; at < content.length; at += 4096) {
    const same = content.subarray(at + 48, at + 56).equals(wanted);
    if (same && content.subarray(at + 32, at + 48).equals(content.subarray(0x10020, 0x10030))) found.push(at);
  }
  assert.equal(found.length, 2, `copies of the leaf at ${bytenr}: ${found.join(", ")}`);
  return found;
}

async function crash({ mount, unmount, device }: Patient): Promise<void> {
  const target = await mount();
  await writeFile(join(target, "late"), "content", { flush: true });
  await exec.run("xfs_io", ["-x", "-c", "shutdown -f", target]);
  await unmount();
  await exec.run("blockdev", ["--flushbufs", device]);
}

const JUNK = Buffer.alloc(1000, 0xa5);

interface Damage {
  type: FilesystemType;
  what: string;
  make(patient: Patient): Promise<void>;
  /** Without consent, and what is left of the files then. */
  first: RepairResult["outcome"];
  /** Files that are there after all; "some": not all. */
  left: number | "some";
}

const DAMAGES: readonly Damage[] = [
  { type: "ext4", what: "is whole", make: async () => {}, first: "clean", left: FILES },
  { type: "xfs", what: "is whole", make: async () => {}, first: "clean", left: FILES },
  { type: "btrfs", what: "is whole", make: async () => {}, first: "clean", left: FILES },
  { type: "ext4", what: "stopped in the middle of its work", make: crash, first: "repaired", left: FILES },
  { type: "xfs", what: "stopped in the middle of its work", make: crash, first: "clean", left: FILES },
  {
    type: "ext4",
    what: "lost its superblock, group descriptors and bitmaps",
    make: (it) => overwrite(it, 4096, Buffer.alloc(64 * 4096, 0xa5)),
    first: "unsafe",
    left: "some",
  },
  {
    type: "xfs",
    what: "lost the header of an allocation group's inodes",
    make: async (it) => {
      const blocks = await numberOf("xfs_db", ["-r", "-c", "sb 0", "-c", "p agblocks", it.device], /= (\d+)/);
      await overwrite(it, (blocks + 2) * 4096, Buffer.alloc(4096));
    },
    first: "unsafe",
    left: FILES,
  },
  {
    type: "xfs",
    what: "has a log that cannot be replayed",
    make: async (it) => {
      await crash(it);
      const print = ["-r", "-c", "sb 0", "-c", "p logstart", it.device];
      const start = await numberOf("xfs_db", print, /= (\d+)/);
      const convert = ["-r", "-c", `convert fsblock ${start} byte`, it.device];
      const at = await numberOf("xfs_db", convert, /\((\d+)\)/);
      await overwrite(it, at, Buffer.alloc(4 * MIB, 0xa5));
    },
    first: "unsafe",
    left: FILES,
  },
  {
    type: "btrfs",
    what: "lost one copy of a piece of its tree",
    make: async (it) => overwrite(it, ((await leaves(it))[0] ?? 0) + 1000, JUNK),
    first: "clean",
    left: FILES,
  },
  {
    type: "btrfs",
    what: "lost its first superblock",
    make: (it) => overwrite(it, 0x10000, Buffer.alloc(4096)),
    first: "repaired",
    left: FILES,
  },
  {
    type: "btrfs",
    what: "lost every copy of a piece of its tree",
    make: async (it) => {
      for (const at of await leaves(it)) await overwrite(it, at + 1000, JUNK);
    },
    first: "unsafe",
    left: "some",
  },
];

for (const { type, what, make, first, left } of sample(DAMAGES, { everyday: 3 })) {
  const needs = first === "unsafe" ? "waits for consent, and is usable after it" : `is ${first}`;
  test(`${type} that ${what}: ${needs}`, async (t) => {
    const it = await patient(t, type);
    await make(it);
    const found = await it.repair(false);
    assert.equal(found.outcome, first, found.report);
    assert.notEqual(found.report, "");
    if (first === "unsafe") {
      const again = await it.repair(false);
      assert.equal(again.outcome, "unsafe", `changed without consent: ${again.report}`);
      assert.match(found.report, /bad|corrupt|error|failed|invalid|inconsistency|cannot be replayed/i);
      const repaired = await it.repair(true);
      assert.equal(repaired.outcome, "repaired", repaired.report);
      t.diagnostic(`found: ${found.report}; reported after it: ${repaired.report}`);
    }
    const there = await survivors(it);
    t.diagnostic(`${there} of ${FILES} files`);
    if (left === "some") assert.ok(there < FILES);
    else assert.equal(there, left);
    const after = await it.repair(false);
    assert.equal(after.outcome, "clean", `after that: ${after.report}`);
    await it.mount();
    await rm(join(it.image, "..", "mounted", "f0"), { force: true });
    await writeFile(join(it.image, "..", "mounted", "new"), "new", { flush: true });
    await it.unmount();
  });
}

for (const type of ["ext4", "xfs", "btrfs"] as const) {
  test(`${type}: a tool that was killed has found nothing, so no consent is asked for`, async (t) => {
    const killed = { exitCode: null, signal: "SIGKILL", stdout: "", stderr: "Killed" };
    const exec = { ...host.exec, run: async () => killed, try: async () => killed };
    const mounts = { ...host.mounts, mount: async () => {}, unmount: async () => {} };
    const folder = await scratch(t, host);
    for (const consent of [false, true]) {
      const request = { exec, mounts, device: "/dev/none", type, consent, scratch: join(folder, "scratch") };
      await assert.rejects(repairFilesystem(request), /(e2fsck|xfs_repair|btrfs) .*\/dev\/none/);
    }
  });
}
