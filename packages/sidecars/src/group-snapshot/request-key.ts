import { intentOf } from "../common/object-backoff.ts";
import { namedGroupKey } from "./of-volume-group.ts";
import type { GroupSnapshotView } from "./view.ts";

/** What a report depends on: our own status and finalizers are no part of it. */
export function groupRequestKey({
  candidates,
  classes,
  content,
  group,
  members,
  owned,
  capable,
  named,
}: GroupSnapshotView): string {
  return JSON.stringify([
    capable,
    namedGroupKey(named),
    intentOf(group),
    intentOf(content),
    content?.status,
    classes,
    candidates.map(({ claim, volume }) => [intentOf(claim), claim.status?.phase, intentOf(volume)]),
    members.map((member) => [intentOf(member.content), intentOf(member.snapshot)]),
    owned.snapshots.map(({ metadata }) => metadata.finalizers),
  ]);
}
