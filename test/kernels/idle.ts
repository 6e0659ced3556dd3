import assert from "node:assert/strict";
import { eventually } from "@mooring/store/testing";
import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { MIB, NODES, RECORDS, takeOver } from "./proof.ts";
import { IdleWriter, RecordWriter, readStints } from "./records.ts";

const [A, B] = NODES;

/**
 * A node stands still that has its device open and writes nothing: its lock went to whoever made a snapshot, and after half a minute the
 * cluster knows nothing of it any more. What it writes first when it goes on is refused all the same.
 */
export async function pausesIdle(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "idle", 64n * MIB);
  const image = `mooring.${disk.id}`;
  const known = async (...command: string[]) =>
    JSON.parse(await kernels.rbd(...command, "--format", "json", image));
  const { guest } = kernels.node(A);
  const first = new IdleWriter(guest, "first", await disk.attach(A));
  await first.idles();
  // The kernel's client takes the lock with the first read where it keeps the object map.
  await kernels.rbd("snap", "create", "--no-progress", `${image}@passing`);
  await kernels.rbd("snap", "rm", "--no-progress", `${image}@passing`);
  await eventually("nobody to have the lock", async () => (await known("lock", "ls")).length === 0);
  const resume = await guest.pause();
  await eventually(
    "the cluster to forget the node",
    async () => (await known("status")).watchers.length === 0,
    {
      withinMs: 180_000,
      everyMs: 1000,
    },
  );
  const { device, took } = await takeOver(kernels, disk, { from: A, to: B });
  const second = new RecordWriter(kernels.node(B).guest, "second", device);
  await second.more("acknowledged", RECORDS);
  resume();
  await first.more("refused", RECORDS);
  await second.more("acknowledged", RECORDS);
  await second.stop();
  await first.stop();
  assert.deepEqual([first.acknowledged, first.late], [0, 0]);
  const [stint, ...others] = await readStints(kernels.node(B).guest, device);
  assert.deepEqual(others, []);
  assert.ok(stint?.[0] === "second" && stint[1] >= second.acknowledged);
  await kernels.agentIs(A, "Ready");
  await disk.leave(B);
  await disk.remove();
  return `${took}; then ${first.refused} writes refused, 0 taken, beside ${second.acknowledged} of the other node`;
}
