import { keyOf, parseKey, stepFailpoints } from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { sidecarController } from "../common/controller.ts";
import { Remembered } from "../common/remembered.ts";
import { source } from "../common/source.ts";
import { VolumeGroupSteps } from "./apply.ts";
import { decideVolumeGroup } from "./decide.ts";
import { GrowthRefusals } from "./growth-refusals.ts";
import { VolumeGroupReader } from "./read.ts";
import type { VolumeGroupStep } from "./step.ts";
import { StorageMemory } from "./storage-memory.ts";
import type { VolumeGroupView } from "./view.ts";

const failpoints = stepFailpoints<VolumeGroupStep>("sidecars/volume-group", {
  "add-finalizer": true,
  "create-content": true,
  "bind-content": true,
  "mark-being-created": true,
  "create-group": true,
  "get-group": true,
  record: true,
  "write-content-conditions": true,
  "protect-claims": true,
  modify: true,
  "release-claims": true,
  "grow-claim": true,
  "write-status": true,
  "delete-claims": true,
  "delete-group": true,
  "delete-content": true,
  "release-content": true,
  "release-group": true,
});

/** How often the storage system is asked what is in a group. */
export interface VolumeGroupOptions {
  /** Milliseconds between two reads of what is in a group on the storage system; default 300,000. */
  driftMs: number;
}

const GROUP = "group:";
const CONTENT = "content:";

/** Makes volume groups, and keeps their members those that their selectors and claims ask for. */
export function runVolumeGroup(
  context: SidecarContext,
  { driftMs = 300_000 }: Partial<VolumeGroupOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, hasGroupKinds, now, retry } = context;
  const memory = new StorageMemory({ ...retry, now, periodMs: driftMs });
  const growth = new GrowthRefusals({ ...retry, now });
  const steps = new VolumeGroupSteps(context, { memory, growth }, signal);
  const uidNow = (key: string) =>
    key.startsWith(CONTENT) ? cluster.volumeGroupContents.get(nameIn(key))?.metadata.uid : undefined;
  const remembered = new Remembered(uidNow, (uid) => memory.forget(uid));
  return sidecarController(context, {
    name: "volume-group",
    failpoints,
    sources: [
      source(cluster.volumeGroups, (group) => [GROUP + keyOf(group)]),
      source(cluster.volumeGroupContents, ({ metadata }) => [CONTENT + metadata.name]),
    ],
    watched: [
      ...[cluster.volumeGroupClasses, cluster.claims, cluster.volumes, cluster.classes],
      ...(hasGroupKinds ? [cluster.groups, cluster.groupContents] : []),
    ],
    read(key, from, fresh) {
      // What is installed later is not watched, so it is not read either.
      const reader = new VolumeGroupReader({ ...from, hasGroupKinds }, memory, growth);
      return key.startsWith(GROUP)
        ? reader.ofGroup(key.slice(GROUP.length), fresh)
        : reader.ofContent(nameIn(key), fresh);
    },
    isGone: (_: VolumeGroupView, key) =>
      key.startsWith(GROUP)
        ? cluster.volumeGroups.get(key.slice(GROUP.length)) === undefined
        : cluster.volumeGroupContents.get(nameIn(key)) === undefined,
    decide: decideVolumeGroup,
    apply: (step: VolumeGroupStep, view) => steps.apply(step, view),
    ended(key) {
      const uid = uidNow(key);
      if (uid === undefined) remembered.ended(key);
      else remembered.note(key, uid);
    },
  }).run(signal);
}

function nameIn(contentKey: string): string {
  return parseKey(contentKey.slice(CONTENT.length)).name;
}
