import assert from "node:assert/strict";
import { mkdir, open } from "node:fs/promises";
import { dirname, join } from "node:path";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { covers } from "@mooring/store/testing";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { Bench, NODE } from "../../../testing/agent.ts";
import { attachmentAt } from "../../../testing/attachment-at.ts";
import { GIB, MIB, sparse } from "../../../testing/scratch.ts";
import { ticketStatus } from "../../../tickets/tickets.ts";
import { unpublish } from "../testing/filesystem.ts";

const SALVAGE = "salvage-controller-v-p-1";
const BLOCK = 4096;
const MARK = Buffer.alloc(BLOCK, "the block that goes bad; ");
const KEPT = Buffer.alloc(BLOCK, "kept; ");

/** A raw volume that a workload writes to: at its beginning, and in its middle. Resolves with its device. */
async function workload(bench: Bench): Promise<string> {
  await bench.createVolume("v-p-1", { size: 64 * MIB });
  await bench.ask("v-p-1");
  const device = (await healthy(bench)).status?.device ?? "";
  await write(device, MARK, 0);
  await write(device, KEPT, 32 * MIB);
  return device;
}

const healthy = (bench: Bench, more: (volume: Volume) => boolean = () => true) =>
  bench.volume(
    "v-p-1",
    "attached",
    (v) => v.status?.robustness === "healthy" && v.status.frontendDisabled === false && more(v),
  );

async function write(path: string, bytes: Buffer, at: number): Promise<void> {
  const file = await open(path, "r+");
  try {
    await file.write(bytes, 0, bytes.length, at);
    await file.sync();
  } finally {
    await file.close();
  }
}

async function read(path: string, at: number): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    return (await file.read(Buffer.alloc(BLOCK), 0, BLOCK, at)).buffer;
  } finally {
    await file.close();
  }
}

test("a raw device that fails under its workload is detached, read through by a ticket, and comes back", async (t) => {
  covers("LHA-055", "LHA-056");
  const bench = await Bench.open(t, "xfs", { tickets: true });
  const device = await workload(bench);
  const tickets = bench.ticketsUntil("v-p-1", (a) => ticketStatus(a, SALVAGE)?.satisfied === true);
  const broken = bench.volumeWhere("v-p-1", (v) => v.status?.robustness === "faulted");
  await bench.host.loops.fence(await attachmentAt(bench.host, device));
  const { salvage: fault, remountRequestedAt: reportedAt = "" } = (await broken).status ?? {};
  assert.deepEqual([fault?.cause, fault?.state], ["device", "Faulted"]);
  assert.match(fault?.message ?? "", /fenced off/);
  assert.deepEqual((await tickets).sort(), [
    `csi-w csi-attacher ${NODE}`,
    `${SALVAGE} salvage-controller ${NODE}`,
  ]);
  const healed = await healthy(bench, (v) => v.status?.salvage?.state === "Clean");
  assert.ok((healed.status?.remountRequestedAt ?? "") > reportedAt, "the workload is made to open it anew");
  assert.deepEqual(await read(healed.status?.device ?? "", 32 * MIB), KEPT);
  await unpublish(bench, "v-p-1");
});

test("a block that the disk does not give back makes a raw volume faulted; with consent it is zeros, and all else stays", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true, prepare: checksummedDisk });
  const device = await workload(bench);
  await spoil(bench, device);
  const asked = await bench.volume("v-p-1", "detached", (v) => v.status?.salvage?.state === "NeedsConsent");
  const { cause, message = "", faultedAt = "" } = asked.status?.salvage ?? {};
  assert.equal(cause, "device");
  assert.match(message, /byte 0 cannot be read.*acceptDataLoss/);
  await mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
    volume.spec.acceptDataLoss = faultedAt;
  });
  const healed = await healthy(bench);
  const { salvage, device: again = "" } = healed.status ?? {};
  assert.deepEqual([salvage?.state, salvage?.dataLoss], ["Repaired", true]);
  assert.match(salvage?.message ?? "", /4096 bytes/);
  assert.deepEqual(await read(again, 0), Buffer.alloc(BLOCK));
  assert.deepEqual(await read(again, 32 * MIB), KEPT);
  await unpublish(bench, "v-p-1");
});

const diskOf = (bench: Bench) => join(bench.dir, "disk");
const poolsOf = (bench: Bench) => join(bench.stateDir, "pools");
const poolFile = (bench: Bench) => join(poolsOf(bench), "p", "pool.img");

/** The pools' files lie on a file system that notices when a block below it has changed, and then refuses it. */
async function checksummedDisk(bench: Bench): Promise<void> {
  const { exec, loops, mounts } = bench.host;
  const { path } = await loops.attach(await sparse(diskOf(bench), 4 * GIB));
  await exec.run("mkfs.btrfs", ["-q", "-s", "4096", path]);
  await mkdir(poolsOf(bench), { recursive: true });
  await mounts.mount({ source: path, target: poolsOf(bench), fsType: "btrfs" });
  // Mooring makes a pool's file there without copy-on-write, and so without checksums; one that is there keeps them.
  await mkdir(dirname(poolFile(bench)), { mode: 0o700 });
  const file = await sparse(poolFile(bench), 2 * GIB);
  await exec.run("mkfs.xfs", ["-q", "-K", "-m", "reflink=1", "-s", "size=4096", file]);
}

/** One block of the disk changes behind everybody's back, and nobody has a copy of it in memory. */
async function spoil(bench: Bench, device: string): Promise<void> {
  const { exec } = bench.host;
  await exec.run("sync", ["-f", poolsOf(bench)]);
  const found = await exec.run("grep", ["-obUaF", "-m1", MARK.subarray(0, 25).toString(), diskOf(bench)]);
  await write(diskOf(bench), Buffer.alloc(BLOCK, 0xa5), Number(found.stdout.split(":")[0]));
  await exec.run("dd", [`of=${poolFile(bench)}`, "count=0", "oflag=nocache", "conv=notrunc,fdatasync"]);
  await exec.run("blockdev", ["--flushbufs", device]);
}
