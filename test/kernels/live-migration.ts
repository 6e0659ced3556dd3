import assert from "node:assert/strict";
import { eventually } from "@mooring/store/testing";
import { BLOCK_PROGRAM } from "../nodes/support/writer.ts";
import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { perl } from "./perl.ts";
import { MIB, NODES, RECORDS } from "./proof.ts";
import { RecordWriter, readStints, Writer } from "./records.ts";

const [A, B] = NODES;

/** What waits on the target, its device open, until it works: as a virtual machine does that comes over. */
async function waitingOn(kernels: Kernels, disk: Disk, name: string): Promise<Writer> {
  await disk.ask(B);
  const { currentNodeID, currentMigrationNodeID, migrationDevice = "" } = await disk.status();
  assert.deepEqual([currentNodeID, currentMigrationNodeID], [A, B]);
  return new Writer(kernels.node(B).guest, name, perl(BLOCK_PROGRAM, migrationDevice, name));
}

/** No image is open in the kernel of the node. */
async function hasNone(kernels: Kernels, node: string): Promise<void> {
  assert.equal(await kernels.node(node).guest.run("ls /sys/bus/rbd/devices"), "");
}

/** A raw volume's workload moves to the other kernel without an end: taken back the first time, confirmed the second. */
export async function movesLive(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "live", 64n * MIB, "migratable");
  const own = await disk.attach(A);
  const first = new RecordWriter(kernels.node(A).guest, "first", own);
  await first.more("acknowledged", RECORDS);

  const refused = await waitingOn(kernels, disk, "refused");
  await first.more("acknowledged", RECORDS);
  assert.equal(refused.acknowledged, 0, "two nodes can write");
  await refused.stop();
  await disk.leave(B);
  await eventually("the migration to be taken back", async () => {
    const { currentNodeID, currentMigrationNodeID = "" } = await disk.status();
    return currentNodeID === A && currentMigrationNodeID === "";
  });
  assert.equal((await disk.status()).device, own);
  await hasNone(kernels, B);
  await first.more("acknowledged", RECORDS);

  const second = await waitingOn(kernels, disk, "second");
  const device = (await disk.status()).migrationDevice ?? "";
  await first.more("acknowledged", RECORDS);
  assert.equal(second.acknowledged, 0, "two nodes can write");
  await first.stop();
  assert.equal(first.refused, 0);
  const from = performance.now();
  await disk.leave(A);
  await second.more("acknowledged", 1);
  const took = Math.round(performance.now() - from);
  await second.more("acknowledged", RECORDS);
  await second.stop();
  await hasNone(kernels, A);
  const stints = await readStints(kernels.node(B).guest, device);
  assert.deepEqual(
    stints.map(([writer]) => writer),
    ["first", "second"],
  );
  for (const [at, writer] of [first, second].entries()) {
    const there = stints[at]?.[1] ?? 0;
    assert.ok(there >= writer.acknowledged, `${writer.acknowledged} acknowledged, ${there} there`);
  }
  await disk.leave(B);
  await disk.remove();
  return `${first.acknowledged} and ${second.acknowledged} records, 0 lost, ${took} ms from one to the other`;
}
