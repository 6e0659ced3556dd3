import assert from "node:assert/strict";
import { mkdir, rm } from "node:fs/promises";
import { join } from "node:path";
import { evaluate, type SetResult } from "../group/support/records.ts";
import { mapSome, readRecordsAt } from "../group/support/volume-set.ts";
import { command } from "../nodes/support/command.ts";
import { Disk, type Kind } from "./disk.ts";
import type { Kernels } from "./kernels.ts";
import { MIB, NODES } from "./proof.ts";
import { repeated } from "./repeated.ts";
import { Ring } from "./ring.ts";

/** The longest barrier there is: how busy the machine is decides nothing. */
const PATIENT = { deadlineSeconds: "60" };
/** Records between two sets, over all volumes together. */
const PROGRESS = 32;
/** Of those who write on it. */
interface Member {
  disk: Disk;
  kind: Kind;
  node: string;
  path: string;
}

/** Volumes on both nodes in turn; pairs of them raw and with a file system in turn. */
async function membersOf(kernels: Kernels, count: number): Promise<Member[]> {
  const numbers = Array.from({ length: count }, (_, number) => number);
  return mapSome(numbers, async (number) => {
    const node = NODES[number % NODES.length] ?? "";
    const kind: Kind = Math.floor(number / NODES.length) % 2 === 0 ? "mounted" : "raw";
    const disk = await Disk.create(kernels, `group-${count}-${number}`, 32n * MIB, kind);
    await disk.attach(node);
    const path = await disk.mount(node);
    return { disk, kind, node, path: kind === "raw" ? path : `${path}/records` };
  });
}

/** What is in the snapshots, by the cluster; of a file system after its journal was replayed, as whoever restores it has it. */
async function evaluateSnapshots(
  kernels: Kernels,
  members: readonly Member[],
  snapshots: readonly string[],
  acknowledged: number,
): Promise<SetResult> {
  const records = await mapSome(members, async ({ kind }, index) => {
    const file = join(kernels.folder, `snapshot-${index}`);
    await rm(file, { force: true });
    await kernels.rbd("export", "--no-progress", `mooring.${snapshots[index]}`, file);
    return kind === "raw" ? readRecordsAt(file) : readMounted(file);
  });
  return evaluate(records, acknowledged);
}

async function readMounted(file: string): Promise<Buffer> {
  const target = `${file}.mount`;
  await mkdir(target, { recursive: true });
  await command("mount", "-o", "loop", file, target);
  try {
    return await readRecordsAt(join(target, "records"));
  } finally {
    await command("umount", target);
  }
}

async function oneMoment(kernels: Kernels, members: readonly Member[], ring: Ring, name: string) {
  const { groupController } = await kernels.csi();
  await ring.advance(Math.max(3, Math.ceil(PROGRESS / members.length)));
  const { acknowledged } = ring;
  const request = { name, sourceVolumeIds: members.map(({ disk }) => disk.id), parameters: PATIENT };
  const { groupSnapshot } = await repeated(`group snapshot ${name}`, () =>
    groupController.createVolumeGroupSnapshot(request),
  );
  const { groupSnapshotId = "", snapshots = [] } = groupSnapshot ?? {};
  const snapshotIds = members.map(
    ({ disk }) => snapshots.find(({ sourceVolumeId }) => sourceVolumeId === disk.id)?.snapshotId ?? "",
  );
  const { violations } = await evaluateSnapshots(kernels, members, snapshotIds, acknowledged);
  await repeated(`${name} to be deleted`, () =>
    groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds }),
  );
  return violations;
}

/** Snapshots one after the other, with records written in between: what a group snapshot must not be. */
async function apart(kernels: Kernels, members: readonly Member[], ring: Ring): Promise<number> {
  const controller = await kernels.controller();
  const { acknowledged } = ring;
  const ids: string[] = [];
  for (const { disk } of members) {
    const request = { name: `apart-${disk.id}`, sourceVolumeId: disk.id };
    const { snapshot } = await repeated(request.name, () => controller.createSnapshot(request));
    ids.push(snapshot?.snapshotId ?? "");
    // The one after the record that is under way is surely in the next snapshot, and not in this one.
    await ring.advance(2);
  }
  const { violations } = await evaluateSnapshots(kernels, members, ids, acknowledged);
  for (const snapshotId of ids)
    await repeated(`${snapshotId} to be deleted`, () => controller.deleteSnapshot({ snapshotId }));
  return violations.length;
}

/** Writers on both kernels, in an order: each group snapshot is one moment of it, and independent snapshots are seen not to be. */
export async function groupsAreOneMoment(
  kernels: Kernels,
  report: (line: string) => void,
  { volumes, snapshots }: { volumes: number; snapshots: number },
): Promise<string> {
  const members = await membersOf(kernels, volumes);
  const places = members.map(({ node, path }) => ({ guest: kernels.node(node).guest, path }));
  const ring = await Ring.start(kernels.network.address, places);
  let control = 0;
  try {
    for (let set = 1; set <= snapshots; set++) {
      const violations = await oneMoment(kernels, members, ring, `one-${volumes}-${set}`);
      assert.deepEqual(violations, [], `set ${set}`);
      if (set % 10 === 0) report(`${set} group snapshots of ${volumes} volumes, 0 violations`);
    }
    control = await apart(kernels, members, ring);
    assert.notEqual(control, 0, "independent snapshots are seen to differ");
  } finally {
    await ring.stop();
  }
  await mapSome(members, async ({ disk, node }) => {
    await disk.unmount(node);
    await disk.leave(node);
    await disk.remove();
  });
  return `${snapshots} group snapshots of ${volumes} volumes, ${ring.acknowledged} records, 0 violations; independent ones have ${control}`;
}
