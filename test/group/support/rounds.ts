import assert from "node:assert/strict";
import type { CsiClient } from "@mooring/csi";
import { judge, type Verdict } from "./records.ts";
import { type Ring, startRing } from "./ring.ts";
import {
  type Access,
  mapSome,
  type PublishedVolume,
  publishVolume,
  readRecords,
  type Site,
} from "./volume-set.ts";

let names = 0;

/** The longest barrier there is: how busy the machine is decides nothing. */
export const PATIENT = { deadlineSeconds: "60" };

/** A name that no other volume or snapshot of this process has. */
export function freshName(what: string): string {
  names += 1;
  return `${what}-${names}`;
}

/** Volumes in the order they are written in, on the sites in turn. */
export interface Stage {
  client: CsiClient;
  access: Access;
  volumes: readonly PublishedVolume[];
  ring: Ring;
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
    await play({ client, access, volumes, ring });
  } finally {
    await ring?.stop();
    await mapSome(volumes, ({ undo }) => undo());
  }
}

/** Group snapshots under load, each judged; throws at the first that is not one moment. */
export async function cutTogether(stage: Stage, times: number): Promise<void> {
  const { client, ring, volumes } = stage;
  for (let round = 0; round < times; round += 1) {
    await ring.advance(20);
    const acknowledged = ring.acknowledged();
    const { groupSnapshot } = await client.groupController.createVolumeGroupSnapshot({
      name: freshName("group"),
      sourceVolumeIds: volumes.map(({ id }) => id),
      parameters: PATIENT,
    });
    assert.ok(groupSnapshot);
    const { groupSnapshotId, snapshots } = groupSnapshot;
    const snapshotIds = volumes.map(
      ({ id }) => snapshots.find(({ sourceVolumeId }) => sourceVolumeId === id)?.snapshotId ?? "",
    );
    const { last, violations } = await judgeSnapshots(stage, snapshotIds, acknowledged);
    assert.deepEqual(violations, [], `group snapshot ${round}: ${last.join(" ")}`);
    await client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
  }
}

/** Snapshots one after the other, with records written in between: what a group snapshot must not be. */
export async function cutApart(stage: Stage): Promise<Verdict> {
  const { client, ring, volumes } = stage;
  const acknowledged = ring.acknowledged();
  const snapshots: string[] = [];
  for (const { id: sourceVolumeId } of volumes) {
    const { snapshot } = await client.controller.createSnapshot({
      name: freshName("single"),
      sourceVolumeId,
    });
    snapshots.push(snapshot?.snapshotId ?? "");
    await ring.advance(3);
  }
  const verdict = await judgeSnapshots(stage, snapshots, acknowledged);
  for (const snapshotId of snapshots) await client.controller.deleteSnapshot({ snapshotId });
  return verdict;
}

/** Restores every snapshot where its volume is, judges what is in them together, and removes the copies. */
async function judgeSnapshots(
  { access, volumes }: Stage,
  snapshots: readonly string[],
  acknowledged: number,
): Promise<Verdict> {
  const copies = await mapSome(volumes, ({ site }, index) =>
    publishVolume(site, freshName("copy"), { access, snapshotId: snapshots[index] }),
  );
  const records = await mapSome(copies, readRecords);
  await mapSome(copies, ({ undo }) => undo());
  return judge(records, acknowledged);
}
