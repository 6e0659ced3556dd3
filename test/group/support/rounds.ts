import assert from "node:assert/strict";
import type { CsiClient } from "@mooring/csi";
import { inspectSnapshots } from "./inspect.ts";
import { freshName } from "./names.ts";
import { judge, type Verdict } from "./records.ts";
import type { RowResult } from "./results.ts";
import { type Ring, startRing } from "./ring.ts";
import { RESTORE_EVERY, timeIsUp } from "./rows.ts";
import {
  type Access,
  mapSome,
  type PublishedVolume,
  publishVolume,
  readRecordsAt,
  type Site,
} from "./volume-set.ts";

/** The longest barrier there is: how busy the machine is decides nothing. */
export const PATIENT = { deadlineSeconds: "60" };
/** Records between two sets, over all volumes together. */
const PROGRESS = 64;

/** Volumes in the order they are written in, on the sites in turn. */
export interface Stage {
  client: CsiClient;
  volumes: readonly PublishedVolume[];
  ring: Ring;
}

/** A group snapshot with its members in the order of the volumes. */
interface Cut {
  groupSnapshotId: string;
  snapshotIds: string[];
  /** The last record that was durable everywhere before it was asked for. */
  acknowledged: number;
}

/** Makes volumes and writers for them, runs `play`, and removes everything. */
export async function onStage(
  client: CsiClient,
  sites: readonly Site[],
  access: Access,
  count: number,
  play: (stage: Stage) => Promise<void>,
): Promise<void> {
  const places = Array.from({ length: count }, (_, index) => sites[index % sites.length] as Site);
  const volumes = await mapSome(places, (site) => publishVolume(site, freshName("live"), { access }));
  let ring: Ring | undefined;
  try {
    ring = await startRing(volumes.map(({ path }) => path));
    await play({ client, volumes, ring });
  } finally {
    await ring?.stop();
    await mapSome(volumes, ({ undo }) => undo());
  }
}

/**
 * Group snapshots under load until the result has so many, each judged while the next is cut. Returns earlier when the
 * time is up.
 */
export async function cutTogether(
  stage: Stage,
  result: RowResult,
  save: () => Promise<void>,
  sets: number,
): Promise<void> {
  let judging: Promise<void> = Promise.resolve();
  for (let round = result.sets; round < sets && !timeIsUp(); ) {
    const cut = await tryCut(stage);
    await judging;
    if (cut === undefined) {
      result.missedDeadlines += 1;
      await save();
      continue;
    }
    judging = judgeSet(stage, cut, round, result).then(save);
    // Whoever waits for it next is told; until then nobody listens.
    judging.catch(() => {});
    round += 1;
  }
  await judging;
}

/** Undefined when the barrier missed its deadline: the writers then go on, and there is no set. */
async function tryCut({ client, ring, volumes }: Stage): Promise<Cut | undefined> {
  await ring.advance(Math.max(3, Math.ceil(PROGRESS / volumes.length)));
  const acknowledged = ring.acknowledged();
  const request = {
    name: freshName("group"),
    sourceVolumeIds: volumes.map(({ id }) => id),
    parameters: PATIENT,
  };
  try {
    const { groupSnapshot } = await client.groupController.createVolumeGroupSnapshot(request);
    assert.ok(groupSnapshot);
    const { groupSnapshotId, snapshots } = groupSnapshot;
    const memberOf = (id: string) => snapshots.find(({ sourceVolumeId }) => sourceVolumeId === id);
    const snapshotIds = volumes.map(({ id }) => memberOf(id)?.snapshotId ?? "");
    return { groupSnapshotId, snapshotIds, acknowledged };
  } catch (error) {
    if (/before the deadline/.test((error as Error).message)) return undefined;
    throw error;
  }
}

async function judgeSet(stage: Stage, cut: Cut, round: number, result: RowResult): Promise<void> {
  const { groupSnapshotId, snapshotIds, acknowledged } = cut;
  const restored = round % RESTORE_EVERY === 0;
  const read = restored ? restoreSnapshots : inspectSnapshots;
  const { last, violations } = judge(await read(stage.volumes, snapshotIds), acknowledged);
  result.sets += 1;
  if (restored) result.restored += 1;
  if (violations.length > 0)
    result.violations.push(`set ${round} (${last.join(" ")}): ${violations.join("; ")}`);
  await stage.client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
}

/** Snapshots one after the other, with records written in between: what a group snapshot must not be. */
export async function cutApart({ client, ring, volumes }: Stage): Promise<Verdict> {
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
  const verdict = judge(await inspectSnapshots(volumes, snapshots), acknowledged);
  for (const snapshotId of snapshots) await client.controller.deleteSnapshot({ snapshotId });
  return verdict;
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
