import assert from "node:assert/strict";
import { LEASE_TIMES, ShareManagers } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { WRITER } from "../nodes/support/writer.ts";
import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { perl } from "./perl.ts";
import { MIB, NODES, RECORDS, seconds } from "./proof.ts";
import { Writer } from "./records.ts";

/** Increments of each node. */
const TURNS = 25;
/** Seconds between two records of a writer. */
const PAUSE = "0.01";
const PATIENT = { withinMs: 600_000 };

/** Adds one to the number in a file, under a lock that all who have the file system see. */
const COUNT = `
use Fcntl qw(:DEFAULT :seek);
my ($file, $turns) = @ARGV;
for (1 .. $turns) {
  sysopen(my $f, $file, O_RDWR | O_CREAT) or die "open: $!";
  my $whole = pack('s s x4 l! l! i x4', F_WRLCK, SEEK_SET, 0, 0, 0);
  fcntl($f, F_SETLKW, $whole) or die "lock: $!";
  sysread($f, my $number, 20);
  sysseek($f, 0, SEEK_SET);
  syswrite($f, ($number || 0) + 1) or die "write: $!";
  close($f) or die "close: $!";
}
`;

/** One node's view of the volume. */
interface Side {
  node: string;
  path: string;
}

async function writerOf(kernels: Kernels, { node, path }: Side, file: string): Promise<Writer> {
  return new Writer(kernels.node(node).guest, node, perl(WRITER, `${path}/${file}`, node, PAUSE));
}

/** The last number of this node's records; they have no hole. */
async function lastRecord(kernels: Kernels, at: Side, node: string): Promise<number> {
  const text = await kernels.node(at.node).guest.run(`cat ${at.path}/${node}`);
  // One that a power cut has truncated, or with zeros in it, does not count.
  const lines = text.split("\n").filter((line) => new RegExp(`^${node} \\d+$`).test(line));
  const numbers = lines.map((line) => Number(line.split(" ")[1]));
  assert.deepEqual(
    numbers,
    numbers.map((_, index) => index + 1),
  );
  return numbers.length;
}

/** Each on its kernel, at once; then each reads what the other one was promised. */
async function writeOnBoth(kernels: Kernels, sides: readonly Side[]): Promise<number> {
  const writers = await Promise.all(sides.map((side) => writerOf(kernels, side, side.node)));
  await Promise.all(writers.map((writer) => writer.more("acknowledged", RECORDS)));
  await Promise.all(writers.map((writer) => writer.stop()));
  for (const side of sides)
    for (const writer of writers) {
      const there = await lastRecord(kernels, side, writer.name);
      assert.ok(there >= writer.acknowledged, `${writer.acknowledged} acknowledged, ${there} there`);
    }
  return writers.reduce((sum, writer) => sum + writer.acknowledged, 0);
}

async function countOnBoth(kernels: Kernels, sides: readonly Side[]): Promise<void> {
  const count = ({ node, path }: Side) =>
    kernels.node(node).guest.run(perl(COUNT, `${path}/count`, String(TURNS)), PATIENT.withinMs);
  await Promise.all(sides.map(count));
  for (const { node, path } of sides)
    assert.equal(await kernels.node(node).guest.run(`cat ${path}/count`), String(sides.length * TURNS));
}

/** The node that serves the volume, once that is one of these. */
async function server(kernels: Kernels, { id }: Disk, among: readonly string[]): Promise<string> {
  let last: unknown;
  return eventually(
    `${id} to be served by ${among.join(" or ")}`,
    async () => {
      const { status } = await kernels.store.get(ShareManagers, { name: id });
      last = status;
      const { state, nodeID = "" } = status ?? {};
      return state === "running" && among.includes(nodeID) ? nodeID : undefined;
    },
    { ...PATIENT, lastSeen: () => [last, kernels.logs()] },
  );
}

async function fileSystem(kernels: Kernels, { node, path }: Side): Promise<string> {
  return kernels.node(node).guest.run(`stat -f -c %T ${path}`);
}

/** The power of the node that serves is cut under the other's writes; that one serves the volume itself then, with all it was promised. */
async function loseServer(
  kernels: Kernels,
  disk: Disk,
  [lost, left]: readonly [Side, Side],
): Promise<string> {
  const writer = await writerOf(kernels, left, "until-the-end");
  await writer.more("acknowledged", RECORDS);
  await kernels.node(lost.node).guest.stop();
  const from = performance.now();
  await server(kernels, disk, [left.node]);
  const took = seconds(from);
  // Its pod has to be started again: the mount is of a server that is gone.
  await kernels.node(left.node).guest.run("pkill -9 perl || true");
  await eventually("the writer to end", async () => writer.ended, PATIENT);
  await disk.unmount(left.node);
  const path = await disk.mount(left.node);
  const text = await kernels.node(left.node).guest.run(`cat ${path}/until-the-end`);
  const there = text.split("\n").filter((line) => /^\w+ \d+$/.test(line)).length;
  assert.ok(there >= writer.acknowledged, `${writer.acknowledged} acknowledged, ${there} there`);
  await kernels.boot(lost.node);
  return `power cut of the serving node: ${writer.acknowledged} acknowledged by the other one, 0 lost, served there ${took} later`;
}

/** A file system of one image that both kernels use at once: the one has it, and serves it to the other. */
export async function sharedByBoth(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "shared", 320n * MIB, "shared");
  await Promise.all(NODES.map((node) => disk.ask(node)));
  const serving = await server(kernels, disk, NODES);
  const sides = await Promise.all(
    [...NODES]
      .sort((a, b) => Number(b === serving) - Number(a === serving))
      .map(async (node): Promise<Side> => ({ node, path: await disk.mount(node) })),
  );
  const [here, there] = sides as [Side, Side];
  assert.deepEqual([await fileSystem(kernels, here), await fileSystem(kernels, there)], ["xfs", "nfs"]);
  const acknowledged = await writeOnBoth(kernels, sides);
  await countOnBoth(kernels, sides);
  const moved = await loseServer(kernels, disk, [here, there]);
  // The node that is back reads by the new server what both have written.
  const again: Side = { node: here.node, path: await disk.mount(here.node) };
  assert.equal(await fileSystem(kernels, again), "nfs");
  for (const { node } of sides) assert.ok((await lastRecord(kernels, again, node)) >= RECORDS);
  for (const node of NODES) await disk.unmount(node);
  for (const node of NODES) await disk.leave(node);
  await disk.remove();
  const lease = (LEASE_TIMES.durationMs + LEASE_TIMES.safetyMs) / 1000;
  return `${acknowledged} records of both at once, 0 lost, ${2 * TURNS} increments under a lock; ${moved} (a lease that time ends: ${lease} s)`;
}
