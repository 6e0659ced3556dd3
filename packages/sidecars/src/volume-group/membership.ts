import {
  DEFAULT_MAX_MEMBERS,
  type GroupMember,
  type VolumeGroup,
  type VolumeGroupContent,
} from "../kube/volume-group.ts";
import { assessClaim, type Surroundings, type TicketResult } from "./assess-claim.ts";
import { type Drift, pruned } from "./drift.ts";
import { requestKeyOfSet } from "./request-key.ts";
import type { Candidate, ClaimOfVolume, StorageView, VolumeGroupView } from "./view.ts";

/** What is to be done about the members of a group, and how each of them stands. */
export interface Membership {
  /** Volumes that were in the group when the driver was last asked. */
  actual: ReadonlySet<string>;
  /** Volumes of protected claims that belong into the group, sorted. */
  desired: string[];
  drift: Drift;
  /** Claims that belong into the group and do not have its finalizer yet. */
  unprotected: ClaimOfVolume[];
  /** The whole set for the next call, sorted. */
  target: string[];
  /** Protected claims that no longer belong to the group. */
  leaving: ClaimOfVolume[];
  members: GroupMember[];
}

interface Evaluated {
  candidate: Candidate;
  result: TicketResult;
}

/** Which volumes are to be in the group, and which are. */
export function membershipOf(
  view: VolumeGroupView,
  group: VolumeGroup,
  content: VolumeGroupContent,
): Membership {
  const actual = new Set(content.status?.volumeHandles);
  const around = { group, driver: view.driver, actual, refused: view.storage.refused };
  const evaluated = limited(evaluate(around, view.candidates), actual, content.spec.maxMembers);
  const handles = evaluated.flatMap(({ result }) => (result.kind === "member" ? [result.handle] : []));
  const desired = [...new Set(handles)].sort();
  const drift = pruned(content.status?.drift, desired, actual);
  return {
    actual,
    desired,
    drift,
    unprotected: evaluated.flatMap(({ candidate: { claim }, result }) =>
      result.kind === "join" ? [{ claim, handle: result.handle }] : [],
    ),
    target: targetOf(actual, desired, drift, view.storage),
    leaving: evaluated.flatMap(({ candidate: { claim }, result }) => {
      const leaves = result.kind === "leave" || result.kind === "left-out";
      return leaves && result.handle !== undefined ? [{ claim, handle: result.handle }] : [];
    }),
    members: [
      ...evaluated.map((each) => memberOf(each, actual, drift)),
      ...unknownNames(group, view.candidates),
    ].sort((a, b) => (a.claimName < b.claimName ? -1 : 1)),
  };
}

/** The set for one call: who leaves leaves at once, of those who come only so many as the driver takes together. */
function targetOf(
  actual: ReadonlySet<string>,
  desired: readonly string[],
  drift: Drift,
  { impossible, limit }: Pick<StorageView, "impossible" | "limit">,
): string[] {
  const wanted = new Set([...desired.filter((handle) => !drift.missing.includes(handle)), ...drift.extra]);
  const added = [...wanted].filter((handle) => !actual.has(handle)).sort();
  const kept = [...actual].filter((handle) => wanted.has(handle));
  const set = (newcomers: number) => [...kept, ...added.slice(0, newcomers)].sort();
  let most = Math.min(limit, added.length);
  // What was refused as a whole is never asked for again as it was.
  while (most > 0 && impossible.has(requestKeyOfSet(set(most)))) most -= 1;
  return set(most);
}

/** Oldest first, so that who came first is in when there is room for some only. */
function evaluate(around: Surroundings, candidates: readonly Candidate[]): Evaluated[] {
  const age = ({ claim: { metadata } }: Candidate) => `${metadata.creationTimestamp ?? ""} ${metadata.name}`;
  return [...candidates]
    .sort((a, b) => (age(a) < age(b) ? -1 : 1))
    .flatMap((candidate) => {
      const result = assessClaim(around, candidate);
      return result === undefined ? [] : [{ candidate, result }];
    });
}

/** Members keep their places; of those who come, only so many as there are places, and each volume once. */
function limited(
  evaluated: readonly Evaluated[],
  actual: ReadonlySet<string>,
  most: number = DEFAULT_MAX_MEMBERS,
): Evaluated[] {
  const taken = new Set<string>();
  for (const { result } of evaluated)
    if (result.kind === "member" || result.kind === "leave") taken.add(result.handle);
  return evaluated.map((each) => {
    if (each.result.kind !== "join") return each;
    const { handle } = each.result;
    const leftOut = (reason: string, message: string): Evaluated => ({
      ...each,
      result: { kind: "left-out", reason, message },
    });
    if (taken.has(handle)) return leftOut("VolumeTwice", `another claim of the group has volume ${handle}`);
    if (taken.size >= most && !actual.has(handle))
      return leftOut("TooManyMembers", `the group has ${taken.size} members, and may have ${most}`);
    taken.add(handle);
    return each;
  });
}

function memberOf(
  { candidate: { claim }, result }: Evaluated,
  actual: ReadonlySet<string>,
  drift: Drift,
): GroupMember {
  const claimName = claim.metadata.name;
  const { kind } = result;
  if (kind === "wait" || (kind === "left-out" && result.handle === undefined))
    return {
      claimName,
      state: kind === "wait" ? "Waiting" : "LeftOut",
      reason: result.reason,
      message: result.message,
    };
  const volumeHandle = result.handle ?? "";
  const is = (state: GroupMember["state"], reason: string, message: string): GroupMember => ({
    ...{ claimName, state, reason, message, volumeHandle },
  });
  if (kind === "leave") return is("Leaving", result.reason, result.message);
  if (kind === "left-out") return is("LeftOut", result.reason, result.message);
  if (kind === "member" && result.lost)
    return is(
      "Lost",
      "VolumeMissing",
      "the PersistentVolume is gone; its volume stays in the group until the claim is deleted",
    );
  if (drift.missing.includes(volumeHandle))
    return is("Drifted", "TakenOut", "the volume was taken out of the group on the storage system");
  return actual.has(volumeHandle)
    ? is("Joined", "Joined", "the volume is in the group")
    : is("Joining", "Joining", "the volume is about to be put into the group");
}

/** Names in the spec of claims that are not there. */
function unknownNames({ spec }: VolumeGroup, candidates: readonly Candidate[]): GroupMember[] {
  const known = new Set(candidates.map(({ claim }) => claim.metadata.name));
  return [...new Set(spec.source.claimNames)]
    .filter((name) => !known.has(name))
    .map((claimName) => ({
      claimName,
      state: "Waiting",
      reason: "ClaimMissing",
      message: "there is no such claim in the namespace",
    }));
}
