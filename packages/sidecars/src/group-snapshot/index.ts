import { keyOf, stepFailpoints, type VolumeGroupSnapshot } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { groupOwnerOf } from "../common/group-member.ts";
import { ObjectBackoff } from "../common/object-backoff.ts";
import { SnapshotOperations } from "../common/snapshot-metrics.ts";
import { source } from "../common/source.ts";
import { applyGroup } from "./apply.ts";
import { decideGroupSnapshot } from "./decide.ts";
import { readGroupView } from "./read.ts";
import { groupRequestKey } from "./request-key.ts";
import type { GroupSnapshotStep, GroupSnapshotView } from "./view.ts";

const failpoints = stepFailpoints<GroupSnapshotStep>("sidecars/group-snapshot", {
  "add-finalizer": true,
  "ask-again": true,
  "create-content": true,
  "bind-content": true,
  "write-members": true,
  "write-status": true,
  report: true,
  "mark-being-deleted": true,
  "delete-content": true,
  release: true,
});

/** Binds VolumeGroupSnapshots of the driver to contents, makes their members, and undoes that. */
export async function runGroupSnapshot(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster, hasVolumeGroupKinds } = context;
  const operations = new SnapshotOperations<VolumeGroupSnapshot>("GroupSnapshot", context.driver.info.name);
  const backoff = new ObjectBackoff(context, cluster.groups, (uid) => operations.forget(uid));
  const controller = sidecarController(context, {
    name: "group-snapshot",
    failpoints,
    sources: [
      source(cluster.groups, (group) => [keyOf(group)]),
      // Also of groups that are gone: no other controller takes care of their members.
      source(cluster.snapshots, (snapshot) => {
        const name = groupOwnerOf(snapshot)?.name;
        return name === undefined ? [] : [keyOf({ metadata: { ...snapshot.metadata, name } })];
      }),
    ],
    watched: [
      ...[cluster.groupContents, cluster.groupClasses, cluster.claims, cluster.volumes, cluster.contents],
      ...(hasVolumeGroupKinds ? [cluster.volumeGroups] : []),
    ],
    // What is installed later is not watched, so it is not read either.
    read: async (key, from, fresh) => {
      const view = await readGroupView({ ...from, hasVolumeGroupKinds }, key, { fresh });
      return { ...view, backoffMs: backoff.remaining(view.group, () => groupRequestKey(view)) };
    },
    isGone: ({ group }: GroupSnapshotView, key) =>
      group === undefined && cluster.snapshots.byIndex("groupName", key).length === 0,
    decide: decideGroupSnapshot,
    apply: async (step: GroupSnapshotStep, view, key) => {
      const { group } = view;
      if (group !== undefined) {
        if (step.do !== "write-members") backoff.note(key, group);
        operations.step(group, { waits: step.do === "report" });
      }
      await applyGroup(context, backoff, step, view);
      if (group !== undefined && step.do === "write-status") operations.reached(group, step.events);
      if (group !== undefined && step.do === "release") operations.released(group);
    },
    ended: (key) => backoff.ended(key),
  });
  await controller.run(signal);
}
