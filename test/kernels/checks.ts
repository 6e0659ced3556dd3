import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { createReadStream } from "node:fs";
import { rm } from "node:fs/promises";
import { join } from "node:path";
import { pipeline } from "node:stream/promises";
import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { RecordWriter, readStints, type Stint } from "./records.ts";

const MIB = 1n << 20n;
/** Records that a writer is to have before anything happens to it. */
const RECORDS = 50;
/** The nodes that the checks need. */
export const NODES: readonly [string, string] = ["one", "two"];
const [A, B] = NODES;

/** Resolves with what it has seen, as a text. */
type Check = (kernels: Kernels) => Promise<string>;

/** How long something took, for people. */
export function seconds(from: number): string {
  return `${((performance.now() - from) / 1000).toFixed(1)} s`;
}

async function imageHash(kernels: Kernels, disk: Disk): Promise<string> {
  const file = join(kernels.folder, "image");
  await rm(file, { force: true });
  await kernels.rbd("export", "--no-progress", `mooring.${disk.id}`, file);
  const hash = createHash("sha256");
  await pipeline(createReadStream(file), hash);
  return hash.digest("hex");
}

/** The last writer's acknowledged records are all there, behind those of the others before it. */
function isComplete(stints: readonly Stint[], before: readonly Stint[], writer: RecordWriter): void {
  const last = stints.at(-1);
  assert.deepEqual(stints.slice(0, -1), before);
  assert.equal(last?.[0], writer.name);
  assert.ok(
    (last?.[1] ?? 0) >= writer.acknowledged,
    `${writer.acknowledged} acknowledged, ${last?.[1]} there`,
  );
}

/** Hands the disk from a node that was lost to the other. Resolves with its device there, and how long that took. */
async function takeOver(kernels: Kernels, disk: Disk, { from, to }: { from: string; to: string }) {
  const lost = performance.now();
  const asked = Promise.all([disk.leave(from), disk.attach(to)]);
  // What fails is thrown below.
  asked.catch(() => {});
  await kernels.agentIs(from, "Suspect|Fenced");
  const verdict = performance.now();
  const [, device] = await asked;
  return { device, took: `${seconds(lost)} after the loss, ${seconds(verdict)} after the verdict` };
}

async function moves(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "moved", 64n * MIB);
  const there = await disk.attach(A);
  const { guest } = kernels.node(A);
  const shown = await guest.run("cat /sys/bus/rbd/devices/*/name");
  assert.equal(shown, `mooring.${disk.id}`, "the kernel itself has the image open");
  const first = new RecordWriter(guest, "first", there);
  await first.more("acknowledged", RECORDS);
  await first.stop();
  await disk.leave(A);
  assert.equal(await guest.run("ls /sys/bus/rbd/devices"), "", "nothing is left open where it was");
  const started = performance.now();
  const device = await disk.attach(B);
  const took = seconds(started);
  const stints = await readStints(kernels.node(B).guest, device);
  isComplete(stints, [], first);
  await disk.leave(B);
  await disk.remove();
  return `${first.acknowledged} records, attached in ${took}`;
}

async function powerCuts(kernels: Kernels, rounds: number): Promise<string> {
  const disk = await Disk.create(kernels, "cut", 256n * MIB);
  let [holder, other] = [A, B];
  let device = await disk.attach(holder);
  let before: Stint[] = [];
  const figures: string[] = [];
  for (let round = 1; round <= rounds; round++) {
    const writer = new RecordWriter(kernels.node(holder).guest, `${holder}-${round}`, device, before);
    await writer.more("acknowledged", RECORDS);
    await kernels.node(holder).guest.stop();
    const next = await takeOver(kernels, disk, { from: holder, to: other });
    device = next.device;
    const stints = await readStints(kernels.node(other).guest, device);
    isComplete(stints, before, writer);
    figures.push(`${writer.acknowledged} acknowledged, 0 lost, ${next.took}`);
    before = stints;
    await kernels.boot(holder);
    [holder, other] = [other, holder];
  }
  await disk.leave(holder);
  await disk.remove();
  return `${rounds} rounds; ${figures.at(-1)}`;
}

async function pauses(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "paused", 64n * MIB);
  const { guest } = kernels.node(A);
  const first = new RecordWriter(guest, "first", await disk.attach(A));
  await first.more("acknowledged", RECORDS);
  const resume = await guest.pause();
  const { device, took } = await takeOver(kernels, disk, { from: A, to: B });
  const before = await readStints(kernels.node(B).guest, device);
  isComplete(before, [], first);
  const second = new RecordWriter(kernels.node(B).guest, "second", device, before);
  await second.more("acknowledged", RECORDS);
  await second.stop();
  const image = await imageHash(kernels, disk);
  resume();
  await first.more("refused", RECORDS);
  assert.equal(await imageHash(kernels, disk), image);
  assert.equal(first.late, 0);
  // ESHUTDOWN: it was the cluster that refused it.
  assert.match(await guest.run("dmesg"), /rbd\d+: .*(-108|blocklist|blacklist)/i);
  await first.stop();
  await kernels.agentIs(A, "Ready");
  const stints = await readStints(kernels.node(B).guest, device);
  assert.deepEqual(stints.slice(0, -1), before);
  await disk.leave(B);
  await disk.remove();
  return `${took}; then ${first.refused} writes refused, 0 taken, the image is the same`;
}

/** What is checked on two kernels, one after the other; `rounds`: how often the power is cut. */
export function checks(rounds: number): Record<string, Check> {
  return {
    "a volume goes from one kernel to the other, with what was written": moves,
    "the power of a node is cut in the middle of its writes, and the other one has them all": (kernels) =>
      powerCuts(kernels, rounds),
    "a node that was paused comes back in the middle of its writes, and can write nothing any more": pauses,
  };
}
