import assert from "node:assert/strict";
import type { CsiClient } from "@mooring/csi";
import { inspectSnapshots } from "./inspect.ts";
import { freshName } from "./names.ts";
import { evaluate, type SetResult } from "./records.ts";
import type { RowResult } from "./results.ts";
import { type Ring, startRing } from "./ring.ts";
import { accessAt, RESTORE_EVERY, type Row, timeIsUp } from "./rows.ts";
import { mapSome, type PublishedVolume, publishVolume, readRecordsAt, type Site } from "./volume-set.ts";

/** The longest barrier there is: how busy the machine is decides nothing. */
export const PATIENT = { deadlineSeconds: "60" };
const DEADLINES = { longest: PATIENT, default: {} };
/** Barriers in a row that may miss their deadline. A busy machine lets some of them; all of them would go on for ever. */
const MOST_MISSES = 5;
/** The error of a barrier that was not done in time. */
const LATE = /before the deadline|was not done within|did not come to a stop within|were still when the last/;
/** Records between two sets, over all volumes together. */
const PROGRESS = 64;

/** Volumes in the order they are written in, on the sites in turn. */
export interface Stage {
  client: CsiClient;
  volumes: readonly PublishedVolume[];
  ring: Ring;
  deadline: Row["deadline"];
}

/** A group snapshot with its members in the order of the volumes. */
interface SnapshotSet {
  groupSnapshotId: string;
  snapshotIds: string[];
  /** The last record that was durable everywhere before it was asked for. */
  acknowledged: number;
}

/** Makes volumes and writers for them, runs `play`, and removes everything. */
export async function onStage(
  client: CsiClient,
  sites: readonly Site[],
  { access, volumes: count, deadline }: Row,
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const places = Array.from({ length: count }, (_, index) => sites[index % sites.length] as Site);
  const volumes = await mapSome(places, (site, index) =>
    publishVolume(site, freshName("live"), { access: accessAt(access, index, sites.length) }),
  );
  let ring: Ring | undefined;
  try {
    ring = await startRing(volumes.map(({ path, site }) => ({ path, node: site.nodeId })));
    await play({ client, volumes, ring, deadline });
  } finally {
    await ring?.stop();
    await mapSome(volumes, ({ undo }) => undo());
  }
}

/**
 * Group snapshots under load until the result has so many, each evaluated while the next is made. Returns earlier when the
 * time is up. Throws when one barrier after the other misses its deadline.
 */
export async function snapshotTogether(
  stage: Stage,
  result: RowResult,
  save: () => Promise<void>,
  sets: number,
): Promise<void> {
  let evaluating: Promise<void> = Promise.resolve();
  let misses = 0;
  for (let round = result.sets; round < sets && !timeIsUp(); ) {
    const snapshot = await trySnapshot(stage);
    await evaluating;
    if ("missed" in snapshot) {
      result.missedDeadlines += 1;
      misses += 1;
      await save();
      if (misses === MOST_MISSES)
        throw new Error(`${misses} barriers in a row, the last: ${snapshot.missed}`);
      continue;
    }
    misses = 0;
    evaluating = evaluateSet(stage, snapshot, round, result).then(save);
    // The next caller that waits for it gets the error; until then none listens.
    evaluating.catch(() => {});
    round += 1;
  }
  await evaluating;
}

/** `missed`: the error of a barrier that missed its deadline. The writers then go on, and there is no set. */
async function trySnapshot({
  client,
  ring,
  volumes,
  deadline,
}: Stage): Promise<SnapshotSet | { missed: string }> {
  await ring.advance(Math.max(3, Math.ceil(PROGRESS / volumes.length)));
  const acknowledged = ring.acknowledged();
  const request = {
    name: freshName("group"),
    sourceVolumeIds: volumes.map(({ id }) => id),
    parameters: DEADLINES[deadline],
  };
  try {
    const { groupSnapshot } = await client.groupController.createVolumeGroupSnapshot(request);
    assert.ok(groupSnapshot);
    const { groupSnapshotId, snapshots } = groupSnapshot;
    const memberOf = (id: string) => snapshots.find(({ sourceVolumeId }) => sourceVolumeId === id);
    const snapshotIds = volumes.map(({ id }) => memberOf(id)?.snapshotId ?? "");
    return { groupSnapshotId, snapshotIds, acknowledged };
  } catch (error) {
    const { message } = error as Error;
    if (LATE.test(message)) return { missed: message };
    throw error;
  }
}

async function evaluateSet(
  stage: Stage,
  snapshot: SnapshotSet,
  round: number,
  result: RowResult,
): Promise<void> {
  const { groupSnapshotId, snapshotIds, acknowledged } = snapshot;
  const restored = round % RESTORE_EVERY === 0;
  const read = restored ? restoreSnapshots : inspectSnapshots;
  const { last, violations } = evaluate(await read(stage.volumes, snapshotIds), acknowledged);
  result.sets += 1;
  if (restored) result.restored += 1;
  if (violations.length > 0)
    result.violations.push(`set ${round} (${last.join(" ")}): ${violations.join("; ")}`);
  await stage.client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
}

/** Snapshots one after the other, with records written in between: what a group snapshot must not be. */
export async function snapshotApart({ client, ring, volumes }: Stage): Promise<SetResult> {
  const acknowledged = ring.acknowledged();
  const snapshots: string[] = [];
  for (const { id: sourceVolumeId } of volumes) {
    const { snapshot } = await client.controller.createSnapshot({
      name: freshName("single"),
      sourceVolumeId,
    });
    snapshots.push(snapshot?.snapshotId ?? "");
    // The one after the record that is under way is surely in the next snapshot, and not in this one.
    await ring.advance(2);
  }
  const result = evaluate(await inspectSnapshots(volumes, snapshots), acknowledged);
  for (const snapshotId of snapshots) await client.controller.deleteSnapshot({ snapshotId });
  return result;
}

/** Restores every snapshot where its volume is, reads what is in the copies, and removes them. */
async function restoreSnapshots(
  volumes: readonly PublishedVolume[],
  snapshots: readonly string[],
): Promise<Buffer[]> {
  const copies = await mapSome(volumes, ({ site, access }, index) =>
    publishVolume(site, freshName("copy"), { access, snapshotId: snapshots[index] }),
  );
  const records = await mapSome(copies, ({ path }) => readRecordsAt(path));
  await mapSome(copies, ({ undo }) => undo());
  return records;
}
