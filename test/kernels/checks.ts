import assert from "node:assert/strict";
import { LEASE_TIMES } from "@mooring/engine";
import { Disk } from "./disk.ts";
import { groupsAreOneMoment } from "./groups.ts";
import { pausesIdle } from "./idle.ts";
import type { Kernels } from "./kernels.ts";
import { movesLive } from "./live-migration.ts";
import { withoutApi, withoutStorage } from "./partitions.ts";
import { type Check, imageHash, isComplete, MIB, NODES, RECORDS, seconds, takeOver } from "./proof.ts";
import { RecordWriter, readStints, type Stint } from "./records.ts";
import { sharedByBoth } from "./shared.ts";
import { twoOfThree } from "./three.ts";

const [A, B] = NODES;

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

async function powerCuts(kernels: Kernels, rounds: number, report: (line: string) => void): Promise<string> {
  const disk = await Disk.create(kernels, "cut", 256n * MIB);
  let [holder, other] = [A, B];
  let device = await disk.attach(holder);
  let before: Stint[] = [];
  let acknowledged = 0;
  for (let round = 1; round <= rounds; round++) {
    const writer = new RecordWriter(kernels.node(holder).guest, `${holder}-${round}`, device, before);
    await writer.more("acknowledged", RECORDS);
    await kernels.node(holder).guest.stop();
    const next = await takeOver(kernels, disk, { from: holder, to: other });
    device = next.device;
    const stints = await readStints(kernels.node(other).guest, device);
    isComplete(stints, before, writer);
    acknowledged += writer.acknowledged;
    report(`round ${round}: ${writer.acknowledged} acknowledged, 0 lost, on the other node ${next.took}`);
    before = stints;
    await kernels.boot(holder);
    [holder, other] = [other, holder];
  }
  await disk.leave(holder);
  await disk.remove();
  const lease = (LEASE_TIMES.durationMs + LEASE_TIMES.safetyMs) / 1000;
  return `${rounds} rounds, ${acknowledged} acknowledged, 0 lost; where time ends a lease that alone takes ${lease} s`;
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
  // ESHUTDOWN: it was the cluster that refused it.
  assert.match(await guest.run("dmesg"), /rbd\d+: .*(-108|blocklist|blacklist)/i);
  await kernels.agentIs(A, "Ready");
  const stints = await readStints(kernels.node(B).guest, device);
  assert.deepEqual(stints.slice(0, -1), before);
  await disk.leave(B);
  await servesAgain(kernels, disk, { refused: first, stints });
  await disk.remove();
  return `${took}; then ${first.refused} writes refused, 0 taken, the image is the same; it serves again when their writer has ended`;
}

/** The volume comes back to the node that was shut out, and not to the writer of before, which is refused until it ends. */
async function servesAgain(
  kernels: Kernels,
  disk: Disk,
  { refused, stints }: { refused: RecordWriter; stints: readonly Stint[] },
): Promise<void> {
  const { guest } = kernels.node(A);
  const attached = disk.attach(A);
  // What fails is thrown below.
  attached.catch(() => {});
  await kernels.why(disk.id, /is still in use/);
  await refused.more("refused", RECORDS);
  assert.equal(refused.late, 0);
  await refused.stop();
  const device = await attached;
  const writer = new RecordWriter(guest, "again", device, stints);
  await writer.more("acknowledged", RECORDS);
  await writer.stop();
  isComplete(await readStints(guest, device), stints, writer);
  await disk.leave(A);
}

/** How much of each is checked. */
export interface Amounts {
  /** How often the power is cut. */
  rounds: number;
  /** Group snapshots of each set of volumes. */
  snapshots: number;
  /** How many volumes the groups have. */
  groups: readonly number[];
}

/** What is checked on two kernels, one after the other. */
export function checks({ rounds, snapshots, groups }: Amounts): Record<string, Check> {
  const ofGroups = groups.map((volumes): [string, Check] => [
    `a group snapshot of ${volumes} volumes on both nodes is one moment of their ordered writers`,
    (kernels, report) => groupsAreOneMoment(kernels, report, { volumes, snapshots }),
  ]);
  return {
    "a volume goes from one kernel to the other, with what was written": moves,
    "a raw volume moves while its workload runs; one that does not come over leaves it where it was":
      movesLive,
    "both kernels use one file system at once, and what one was promised outlives the power of the other":
      sharedByBoth,
    ...Object.fromEntries(ofGroups),
    "the power of a node is cut in the middle of its writes, and the other one has them all": (
      kernels,
      report,
    ) => powerCuts(kernels, rounds, report),
    "a node that was paused comes back in the middle of its writes, and can write nothing any more": pauses,
    "a node that was paused before it wrote anything, and forgotten, can write nothing either": pausesIdle,
    "a node that reaches the storage and not the API server loses its volume, and gets it again when it is back":
      withoutApi,
    "a node that reaches the API server and not the storage keeps its volume, and its writes go on when it is back":
      withoutStorage,
    "of three nodes two lose their power at once, and the third has both volumes": twoOfThree,
  };
}
