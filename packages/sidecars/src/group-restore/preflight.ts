import { isDeleting } from "@mooring/store";
import type { MemberStatus, VolumeGroupRestore } from "../kube/group-restore.ts";
import { claimNameProblem } from "./claim-names.ts";
import { isForeign, takenMessage } from "./foreign.ts";
import { groupProblem } from "./into-group.ts";
import { findMembers, type Member } from "./members.ts";
import type { Obstacle } from "./obstacle.ts";
import { planMember } from "./plan-member.ts";
import type { GroupRestoreView } from "./view.ts";

type Preflight =
  | { kind: "plan"; source: { uid: string; driver: string }; members: MemberStatus[] }
  | Obstacle;

const wait = (reason: string, message: string): Obstacle => ({ kind: "wait", reason, message });
const fail = (reason: string, message: string): Obstacle => ({ kind: "fail", reason, message });

/**
 * Everything that can be wrong is checked before the first claim is made: a restore that cannot be whole makes
 * nothing. The plan that comes out is kept in the status, so that nothing that changes later makes the claims differ.
 */
export function preflight(view: GroupRestoreView, restore: VolumeGroupRestore): Preflight {
  const { content, groupSnapshot } = view;
  const { volumeGroupSnapshotName: name } = restore.spec.source;
  if (groupSnapshot === undefined)
    return fail("GroupSnapshotMissing", `VolumeGroupSnapshot ${name} does not exist`);
  if (isDeleting(groupSnapshot))
    return fail("GroupSnapshotDeleting", `VolumeGroupSnapshot ${name} is being deleted`);
  const error = groupSnapshot.status?.error?.message;
  if (error !== undefined)
    return wait("GroupSnapshotError", `VolumeGroupSnapshot ${name} is not ready: ${error}`);
  const bound = groupSnapshot.status?.boundVolumeGroupSnapshotContentName;
  if (groupSnapshot.status?.readyToUse !== true || bound === undefined)
    return wait("GroupSnapshotNotReady", `VolumeGroupSnapshot ${name} is not ready yet`);
  if (content === undefined)
    return fail(
      "GroupSnapshotContentMissing",
      `VolumeGroupSnapshotContent ${bound} of VolumeGroupSnapshot ${name} does not exist`,
    );
  const members = findMembers(view, groupSnapshot, content);
  if ("kind" in members) return members;
  return plan(view, restore, members, { uid: groupSnapshot.metadata.uid ?? "", driver: content.spec.driver });
}

function plan(
  view: GroupRestoreView,
  restore: VolumeGroupRestore,
  members: readonly Member[],
  source: { uid: string; driver: string },
): Preflight {
  const unknown = (restore.spec.members ?? []).filter(
    ({ claim }) => !members.some(({ sourceClaim }) => sourceClaim === claim),
  );
  if (unknown.length > 0)
    return fail(
      "UnknownMember",
      `spec.members names ${unknown.map(({ claim }) => claim).join(", ")}, which the group snapshot does not have; it has ${members.map(({ sourceClaim }) => sourceClaim).join(", ")}`,
    );
  const planned = members.map((member) => planMember(view, restore, member, source.driver));
  const problems = planned.flatMap((each) => ("problem" in each ? [each] : []));
  const [first] = problems;
  if (first !== undefined) return fail(first.reason, problems.map(({ problem }) => problem).join("; "));
  const good = planned.flatMap((each) => ("problem" in each ? [] : [each]));
  const problem = nameProblem(view, restore, good) ?? groupProblem(restore, view.target, source.driver);
  return problem ?? { kind: "plan", source, members: good };
}

function nameProblem(
  { claims }: GroupRestoreView,
  restore: VolumeGroupRestore,
  members: readonly MemberStatus[],
): Obstacle | undefined {
  const seen = new Map<string, string>();
  const problems: string[] = [];
  for (const { claimName, sourceClaim } of members) {
    const other = seen.get(claimName);
    const invalid = claimNameProblem(claimName);
    if (invalid !== undefined) problems.push(`for ${sourceClaim}: ${invalid}`);
    else if (other !== undefined) problems.push(`${other} and ${sourceClaim} would both become ${claimName}`);
    else if (isForeign(claims.get(claimName), restore)) problems.push(takenMessage(claimName));
    seen.set(claimName, sourceClaim);
  }
  return problems.length === 0 ? undefined : fail("ClaimNameTaken", problems.join("; "));
}
