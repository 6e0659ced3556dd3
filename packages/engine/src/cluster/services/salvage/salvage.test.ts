import assert from "node:assert/strict";
import { open, readFile, stat, truncate, unlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Events, mutate, waitFor } from "@mooring/store";
import { covers, everyday, sample, thorough } from "@mooring/store/testing";
import { VolumeAttachments } from "../../../api/attachment.ts";
import { type Volume, Volumes } from "../../../api/volume.ts";
import { Bench, NODE, until } from "../../../testing/agent.ts";
import { attachmentAt } from "../../../testing/attachment-at.ts";
import { MIB } from "../../../testing/scratch.ts";
import { ticketStatus } from "../../../tickets/tickets.ts";
import { endWorkload, mountDevice, mountFor } from "../testing/filesystem.ts";

const SALVAGE = "salvage-controller-v-p-1";
const SIZES = { ext4: 64 * MIB, xfs: 400 * MIB, btrfs: 256 * MIB };

async function workload(bench: Bench, type: "ext4" | "xfs" | "btrfs"): Promise<string> {
  await bench.createVolume("v-p-1", { size: SIZES[type], fsType: type });
  await bench.volume("v-p-1", "detached");
  const target = await mountFor(bench, "v-p-1", type);
  await writeFile(join(target, "f"), "kept", { flush: true });
  return target;
}

/** The file system stops in the middle of its work, as after an error below it. */
async function shutDown(bench: Bench, target: string): Promise<void> {
  const { exec, mounts } = bench.host;
  const [mount] = await mounts.at(target);
  if (mount?.fsType !== "btrfs") {
    await exec.run("xfs_io", ["-x", "-c", "shutdown -f", target]);
    return;
  }
  // It has no shutdown: nothing gets through to its device any more, and it gives up with its next write.
  await bench.host.loops.fence(await attachmentAt(bench.host, mount.source));
  await writeFile(join(target, "late"), "lost", { flush: true }).catch(() => {});
}

const faulted = (bench: Bench, more: (volume: Volume) => boolean = () => true) =>
  bench.volumeWhere("v-p-1", (v) => v.status?.robustness === "faulted" && more(v));

const back = (bench: Bench) =>
  bench.volume(
    "v-p-1",
    "attached",
    ({ status }) => status?.robustness === "healthy" && status.frontendDisabled === false,
  );

const consent = (bench: Bench, faultedAt: string) =>
  mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
    volume.spec.acceptDataLoss = faultedAt;
  });

for (const type of sample(["ext4", "xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`${type}: a file system that fails in use is detached, checked through a ticket, and comes back to its workload`, async (t) => {
    covers("LHA-015", "LHA-055", "LHA-056", "LHA-057");
    const bench = await Bench.open(t, "xfs", { tickets: true });
    const target = await workload(bench, type);
    await shutDown(bench, target);
    const broken = await faulted(bench);
    assert.equal(broken.status?.salvage?.cause, "filesystem");
    assert.ok(broken.status?.remountRequestedAt !== undefined);
    // Nobody takes the device from under a workload: it is notified, and waited for.
    await bench.volumeWhere("v-p-1", (v) => /mounted at/.test(v.status?.error?.message ?? ""));
    const tickets = bench.ticketsUntil("v-p-1", (a) => ticketStatus(a, SALVAGE)?.satisfied === true);
    await bench.host.mounts.unmount(target);
    assert.deepEqual((await tickets).sort(), [
      `csi-w csi-attacher ${NODE}`,
      `${SALVAGE} salvage-controller ${NODE}`,
    ]);
    const healed = await back(bench);
    const { salvage, remountRequestedAt } = healed.status ?? {};
    assert.match(salvage?.state ?? "", /Clean|Repaired/);
    assert.equal(salvage?.dataLoss, undefined);
    assert.ok((remountRequestedAt ?? "") > (broken.status?.remountRequestedAt ?? ""));
    assert.equal(await readFile(join(await mountDevice(bench, healed, type), "f"), "utf8"), "kept");
    await endWorkload(bench, "v-p-1");
    const emitted = await bench.store.list(Events, { namespace: "default" });
    const reasons = emitted.items.map(({ reason }) => reason);
    assert.ok(reasons.includes("Faulted") && reasons.includes("Salvaged"), reasons.join());
  });
}

test(
  "what cannot be repaired without loss waits for an operator's consent to just this fault, and the loss is reported",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    const target = await workload(bench, "ext4");
    await shutDown(bench, target);
    await faulted(bench);
    // The primary superblock, its group descriptors and the inode bitmap.
    const image = await open(bench.imagePath("v-p-1"), "r+");
    await image.write(Buffer.alloc(64 * 4096, 0xa5), 0, 64 * 4096, 4096);
    await image.sync();
    await image.close();
    await bench.host.mounts.unmount(target);
    const asked = await faulted(
      bench,
      (v) => v.status?.salvage?.state === "NeedsConsent" && v.status.state === "detached",
    );
    const { faultedAt = "", message = "" } = asked.status?.salvage ?? {};
    assert.match(message, /acceptDataLoss/);
    // The workload's ticket has the same reason, and is not satisfied.
    await until(bench.store, VolumeAttachments, "v-p-1", (a) => {
      const result = ticketStatus(a, "csi-w")?.conditions[0];
      return result?.reason === "VolumeFaulted" && /acceptDataLoss/.test(result.message ?? "");
    });
    await consent(bench, "2020-01-01T00:00:00Z");
    await consent(bench, faultedAt);
    const healed = await back(bench);
    assert.deepEqual([healed.status?.salvage?.state, healed.status?.salvage?.dataLoss], ["Repaired", true]);
    await mountDevice(bench, healed, "ext4");
    await endWorkload(bench, "v-p-1");
  },
);

test(
  "an image that is truncated under its users is never quietly made whole by zeros",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    const target = await workload(bench, "ext4");
    await bench.host.exec.run("sync", ["-f", target]);
    await truncate(bench.imagePath("v-p-1"), 32 * MIB);
    const broken = await faulted(bench);
    assert.deepEqual(
      [broken.status?.salvage?.cause, broken.status?.salvage?.state],
      ["image-cut", "NeedsConsent"],
    );
    // Its last writes may make the file as long as it was: the fault stays.
    await bench.host.mounts.unmount(target);
    await bench.volume("v-p-1", "detached", (v) => v.status?.robustness === "faulted");
    await consent(bench, broken.status?.salvage?.faultedAt ?? "");
    const healed = await back(bench);
    assert.equal(healed.status?.salvage?.dataLoss, true);
    assert.equal((await stat(bench.imagePath("v-p-1"))).size, 64 * MIB);
    await mountDevice(bench, healed, "ext4");
    await endWorkload(bench, "v-p-1");
  },
);

test(
  "a volume whose image is deleted under it reports that it is lost, has no ticket, and can be restored",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    const target = await workload(bench, "ext4");
    await bench.createSnapshot("s-p-1", "v-p-1");
    await bench.snapshot("s-p-1");
    await unlink(bench.imagePath("v-p-1"));
    const broken = await faulted(bench);
    assert.deepEqual([broken.status?.salvage?.cause, broken.status?.salvage?.state], ["image-lost", "Lost"]);
    await bench.host.mounts.unmount(target);
    await bench.volume("v-p-1", "detached");
    await mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
      volume.spec.restoreFrom = { snapshot: "s-p-1" };
    });
    const healed = await back(bench);
    assert.equal(await readFile(join(await mountDevice(bench, healed, "ext4"), "f"), "utf8"), "kept");
    await endWorkload(bench, "v-p-1");
  },
);

test(
  "a volume that nobody uses is found to be truncated only when it is wanted, and is not grown before",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await truncate(bench.imagePath("v-p-1"), 32 * MIB);
    await bench.resize("v-p-1", 128 * MIB);
    await faulted(bench);
    assert.equal((await stat(bench.imagePath("v-p-1"))).size, 32 * MIB);
    await waitFor(
      bench.store,
      { resource: VolumeAttachments, key: { name: "v-p-1" } },
      (a) => Object.keys(a?.spec.attachmentTickets ?? {}).length === 0,
      AbortSignal.timeout(60_000),
    );
  },
);
