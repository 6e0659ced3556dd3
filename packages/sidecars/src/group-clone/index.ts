import { keyOf, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { source } from "../common/source.ts";
import { apply } from "./apply.ts";
import { decideGroupClone } from "./decide.ts";
import { read } from "./read.ts";
import type { GroupCloneStep, GroupCloneView } from "./view.ts";

const failpoints = stepFailpoints<GroupCloneStep>("sidecars/group-clone", {
  "add-finalizer": true,
  "create-snapshot": true,
  "create-restore": true,
  "write-status": true,
  "delete-restore": true,
  "delete-snapshot": true,
  release: true,
});

/** Makes groups from groups: snapshot and restore are objects of their own controllers, this one only asks for them. */
export function runGroupClone(context: SidecarContext, signal: AbortSignal): Promise<void> {
  const { cluster } = context;
  return sidecarController(context, {
    name: "group-clone",
    failpoints,
    sources: [source(cluster.groupClones, (clone) => [keyOf(clone)])],
    watched: [cluster.groups, cluster.groupRestores, cluster.volumeGroups],
    read,
    isGone: ({ clone }: GroupCloneView) => clone === undefined,
    decide: decideGroupClone,
    apply: (step: GroupCloneStep, { clone }) =>
      clone === undefined ? Promise.resolve() : apply(context, clone, step),
  }).run(signal);
}
