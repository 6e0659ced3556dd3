import assert from "node:assert/strict";
import { statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { covers } from "@mooring/store/testing";
import { Bench, NODE, volumeObject } from "../../../testing/agent.ts";
import { MIB } from "../../../testing/scratch.ts";
import { ticketStatus } from "../../../tickets/tickets.ts";
import { endWorkload, idle, mountFor } from "../testing/filesystem.ts";
import { decide } from "./decide.ts";

const NOW = new Date("2026-01-01T00:00:00Z");
const TICKET = "volume-expansion-controller-v-p-1";

test("ext4 on a volume that nobody uses grows by itself, attached by a ticket", async (t) => {
  covers("LHA-012");
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await writeFile(join(await mountFor(bench, "v-p-1"), "f"), "kept", { flush: true });
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
  const seen = bench.ticketsUntil("v-p-1", (a) => a.spec.attachmentTickets?.[TICKET] !== undefined);
  await bench.resize("v-p-1", 256 * MIB);
  assert.deepEqual(await seen, [`${TICKET} volume-expansion-controller ${NODE}`]);
  await bench.volume(
    "v-p-1",
    "detached",
    (v) => v.status?.size === 256 * MIB && v.status.expansion === undefined,
  );
  await idle(bench, "v-p-1");
  const target = await mountFor(bench, "v-p-1");
  const { blocks, bsize } = await statfs(target);
  assert.ok(blocks * bsize > 200 * MIB, `${blocks * bsize} bytes`);
  await endWorkload(bench, "v-p-1");
});

test("a workload has its volume undisturbed while a growth waits for it; the next one waits for the growth", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  const target = await mountFor(bench, "v-p-1");
  await bench.resize("v-p-1", 256 * MIB);
  await bench.volume("v-p-1", "attached", (v) => v.status?.size === 256 * MIB);
  // What the node service notes where the kernel does not grow a mounted ext4.
  await bench.patchStatus("v-p-1", { expansion: { size: 256 * MIB } });
  await bench.ticketsUntil("v-p-1", (a) => {
    const result = ticketStatus(a, TICKET)?.conditions[0];
    return result?.reason === "AttachedWithIncompatibleParameters" && /csi-w/.test(result.message ?? "");
  });
  await writeFile(join(target, "f"), "still mine", { flush: true });
  await endWorkload(bench, "v-p-1");
  await bench.ask("v-p-1", "csi-next");
  const grown = await bench.volume(
    "v-p-1",
    "attached",
    (v) => v.status?.frontendDisabled === false && v.status.expansion === undefined,
  );
  const { stdout } = await bench.host.exec.run("dumpe2fs", ["-h", grown.status?.device ?? ""]);
  const blocks = Number(/^Block count:\s+(\d+)/m.exec(stdout)?.[1]);
  assert.equal(blocks * 4096, 256 * MIB);
  await bench.drop("v-p-1", "csi-next");
  await idle(bench, "v-p-1");
});

test("13334, 11220: a growth that fails lets its volume go, waits longer each time, and ends after five attempts", () => {
  const volume = volumeObject("v-p-1");
  const plan = (expansion: object | undefined) => {
    volume.status = {
      state: "detached",
      size: 1,
      ownerID: "a",
      ...(expansion === undefined ? {} : { expansion: { size: 2, ...expansion } }),
    };
    const { tickets, afterMs } = decide(volume, NOW);
    return [tickets[0]?.wanted?.parameters, afterMs];
  };
  const failedAt = NOW.toISOString();
  const hidden = { disableFrontend: "true" };
  assert.deepEqual(plan({}), [hidden, undefined]);
  assert.deepEqual(plan({ failures: 1, failedAt }), [undefined, 1000]);
  assert.deepEqual(plan({ failures: 4, failedAt }), [undefined, 8000]);
  assert.deepEqual(plan({ failures: 4, failedAt: "2025-01-01T00:00:00Z" }), [hidden, undefined]);
  assert.deepEqual(plan({ failures: 5, failedAt: "2025-01-01T00:00:00Z" }), [undefined, undefined]);
  assert.deepEqual(plan(undefined), [undefined, undefined]);
});

test("13334: a file system that cannot be grown is reported, and its volume can be used", async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true });
  await bench.createVolume("v-p-1");
  await bench.volume("v-p-1", "detached");
  await bench.patchStatus("v-p-1", { formatted: "ext4" });
  // Nothing that e2fsck could read.
  await bench.resize("v-p-1", 128 * MIB);
  const failed = await bench.volume("v-p-1", "detached", (v) => (v.status?.expansion?.failures ?? 0) >= 1);
  assert.match(failed.status?.expansion?.message ?? "", /ext4|e2fsck|superblock/i);
  await bench.patchStatus("v-p-1", { expansion: { size: 128 * MIB, failures: 5 } });
  await idle(bench, "v-p-1");
  await bench.ask("v-p-1");
  await bench.volume("v-p-1", "attached");
});
