import { randomUUID } from "node:crypto";
import { type VolumeSet, type VolumeSetChange, type VolumeSetSpec, VolumeSets } from "@mooring/engine";
import { allInParallel, failpoint, isNotFound, mutate, type ObjectStore } from "@mooring/store";
import type { DriverContext } from "../context.ts";
import { takeOut } from "../objects/group-protection.ts";
import { isMember, membersOf } from "../objects/volume-sets.ts";
import { claimVolume, releaseVolume } from "./claim.ts";
import { overtaken, type Refusal } from "./refusal.ts";

/*
 * How the membership changes, all or nothing, with a kill at every failpoint:
 *
 *   1. announce: the record names the members that are to be. Nothing is valid yet.
 *   2. claim: every volume that is new gets the group's mark. A mark without a membership means nothing.
 *   3. commit: one write of the record makes the announced members the members. It fails when the announcement is gone.
 *   4. release: volumes that left lose the mark.
 *
 * Killed before 3, the group is as it was: another change that wants one of the volumes takes the announcement out first
 * (claim.ts). Killed after it, the group is as it was asked to be, and a repeat of the call finds that.
 */

const announced = failpoint("driver/volume-group/change-announced");
const committed = failpoint("driver/volume-group/change-committed");

/** Thrown by {@link changeMembers}: nothing is changed. */
export class MembersRefused extends Error {
  override readonly name = "MembersRefused";
  readonly refusals: readonly Refusal[];

  constructor(refusals: readonly Refusal[]) {
    super("some volumes cannot be members");
    this.refusals = refusals;
  }
}

/** Makes `members` the members of the group. ABORTED when another call was faster. */
export async function changeMembers(
  driver: DriverContext,
  set: VolumeSet,
  members: readonly string[],
  signal: AbortSignal,
): Promise<VolumeSet> {
  const { store } = driver;
  const { name } = set.metadata;
  const change = { id: randomUUID(), members: [...members].sort() };
  const before = await membersOf(driver, set, signal);
  const present = new Set(before.map(({ metadata }) => metadata.name));
  await announce(store, set, change, signal);
  const claimed: string[] = [];
  let after: VolumeSet;
  try {
    const refusals: Refusal[] = [];
    const newcomers = change.members.filter((member) => !present.has(member));
    // All have ended before anything is undone: a claim that comes after that would stay.
    await allInParallel(newcomers, async (id) => {
      const refusal = await claimVolume(driver, { own: name, change: change.id }, id, signal);
      if (refusal === undefined) claimed.push(id);
      else refusals.push(refusal);
    });
    refusals.sort((a, b) => newcomers.indexOf(a.volumeId) - newcomers.indexOf(b.volumeId));
    if (refusals.length > 0) throw new MembersRefused(refusals);
    const generation = set.spec.generation + 1;
    after = await commit(
      store,
      set,
      { change: change.id, outcome: { members: change.members, generation } },
      signal,
    );
  } catch (error) {
    // Only what is certainly not committed is undone: a write whose response was lost may have been made.
    const undone = await takeOut(store, set, change.id, signal);
    if (undone)
      await allInParallel(claimed, (id) =>
        releaseVolume(store, { own: name, change: change.id }, id, signal),
      );
    throw error;
  }
  committed();
  const gone = before.filter(({ metadata }) => !after.spec.members.includes(metadata.name));
  await allInParallel(gone, ({ metadata, spec }) =>
    releaseVolume(store, { own: name, change: spec.group?.change ?? "" }, metadata.name, signal),
  );
  const stale = set.spec.change;
  await allInParallel(
    (stale?.members ?? []).filter((id) => !after.spec.members.includes(id)),
    (id) => releaseVolume(store, { own: name, change: stale?.id ?? "" }, id, signal),
  );
  return after;
}

/** Says what is about to be done, in place of what was announced before. ABORTED: the group is another one by now. */
export async function announce(
  store: ObjectStore,
  { metadata, spec }: VolumeSet,
  change: VolumeSetChange,
  signal: AbortSignal,
): Promise<void> {
  await mutate(
    store,
    VolumeSets,
    { name: metadata.name },
    {
      change: (now) => {
        const same = now.metadata.uid === metadata.uid && now.spec.generation === spec.generation;
        if (!same || now.spec.deleted === true) throw overtaken(metadata.name);
        // Of a call that was killed, nothing stays in a group that is still being made.
        now.spec = { ...(spec.generation === 0 ? spec : now.spec), change };
      },
      signal,
    },
  ).catch((error: unknown) => {
    throw isNotFound(error) ? overtaken(metadata.name) : error;
  });
  announced();
}

/** Makes it so, if it is still announced: else ABORTED. */
export function commit(
  store: ObjectStore,
  { metadata: { name, uid } }: VolumeSet,
  { change, outcome }: { change: string; outcome: Partial<VolumeSetSpec> },
  signal: AbortSignal,
): Promise<VolumeSet> {
  return mutate(
    store,
    VolumeSets,
    { name },
    {
      change: (now) => {
        if (now.metadata.uid !== uid || now.spec.change?.id !== change) throw overtaken(name);
        const { change: _done, ...spec } = now.spec;
        now.spec = { ...spec, ...outcome };
      },
      signal,
    },
  ).catch((error: unknown) => {
    throw isNotFound(error) ? overtaken(name) : error;
  });
}

/** Whether the group has just these members already, and all of them exist. */
export async function hasMembers(
  driver: DriverContext,
  set: VolumeSet,
  ids: readonly string[],
  signal: AbortSignal,
): Promise<boolean> {
  const { members } = set.spec;
  if (members.length !== ids.length || !ids.every((id) => members.includes(id))) return false;
  const present = await membersOf(driver, set, signal);
  return present.filter((volume) => isMember(set, volume)).length === ids.length;
}
