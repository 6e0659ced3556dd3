import assert from "node:assert/strict";
import { NodeAgents, silentPoolsMessage, Volumes } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { Disk } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { isComplete, MIB, NODES, RECORDS, takeOver } from "./proof.ts";
import { RecordWriter, readStints } from "./records.ts";

const [A, B] = NODES;
/** Reports of a node: more than it could have had under way. */
const BEATS = 3;

/** A node that loses the way to an address of this machine; what is returned gives it back. */
async function cutOff(kernels: Kernels, node: string, address: string): Promise<() => Promise<unknown>> {
  const { guest } = kernels.node(node);
  await guest.run(`ip route add blackhole ${address}`);
  return () => guest.run(`ip route del blackhole ${address}`);
}

/** The storage and not the API server: it is lost like a node whose power was cut, and goes on writing until the cluster refuses it. */
export async function withoutApi(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "unheard", 64n * MIB);
  const { guest } = kernels.node(A);
  const first = new RecordWriter(guest, "first", await disk.attach(A));
  await first.more("acknowledged", RECORDS);
  const back = await cutOff(kernels, A, kernels.network.address);
  await first.more("acknowledged", RECORDS);
  await kernels.agentIs(A, "Suspect|Fenced");
  // While nobody has asked for the volume elsewhere it is still that node's.
  await kernels.why(disk.id, new RegExp(`NodeAgent ${A}: is \\w+: the agent has not responded for`));
  const { device, took } = await takeOver(kernels, disk, { from: A, to: B });
  await first.more("refused", RECORDS);
  assert.equal(first.late, 0);
  const stints = await readStints(kernels.node(B).guest, device);
  isComplete(stints, [], first);
  await first.stop();
  await back();
  await kernels.agentIs(A, "Ready");
  await disk.leave(B);
  const again = await disk.attach(A);
  const second = new RecordWriter(guest, "second", again, stints);
  await second.more("acknowledged", RECORDS);
  await second.stop();
  isComplete(await readStints(guest, again), stints, second);
  await disk.leave(A);
  await disk.remove();
  return `${first.acknowledged} acknowledged, 0 lost, ${took.replace("after the loss", "after it was asked for")}; ${first.refused} refused, 0 taken; then it was back`;
}

/** The API server and not the storage: it is no lost node, and what is written waits. */
export async function withoutStorage(kernels: Kernels): Promise<string> {
  const disk = await Disk.create(kernels, "unreached", 64n * MIB);
  const { guest } = kernels.node(A);
  const device = await disk.attach(A);
  const first = new RecordWriter(guest, "first", device);
  await first.more("acknowledged", RECORDS);
  const back = await cutOff(kernels, A, kernels.cephAddress);
  // Whoever asks hears which node it is; and that node goes on reporting.
  await kernels.why(
    disk.id,
    new RegExp(`NodeAgent ${A}: pool ceph: the Ceph cluster of \\S+ does not respond`),
  );
  await kernels.beats(A, BEATS);
  const held = first.acknowledged;
  await back();
  await first.more("acknowledged", RECORDS);
  await first.stop();
  assert.equal(first.refused, 0);
  const { status } = await kernels.store.get(Volumes, { name: disk.id });
  assert.deepEqual([status?.state, status?.currentNodeID], ["attached", A]);
  await eventually(
    "the node to read the pool again",
    async () => silentPoolsMessage(await kernels.store.get(NodeAgents, { name: A })) === undefined,
    { withinMs: 240_000 },
  );
  await disk.leave(A);
  const there = await disk.attach(B);
  isComplete(await readStints(kernels.node(B).guest, there), [], first);
  await disk.leave(B);
  await disk.remove();
  return `${held} acknowledged before, ${first.acknowledged} when it was back and had moved, none refused, 0 lost`;
}
