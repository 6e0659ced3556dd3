import {
  keyOf,
  type PersistentVolume,
  type PersistentVolumeClaim,
  parseKey,
  runController,
} from "@mooring/store";
import type { SidecarContext } from "../common/context.ts";
import { source } from "../common/source.ts";
import { runSteps } from "../common/steps.ts";
import type { VolumeGroupContent } from "./api.ts";
import { VolumeGroupSteps } from "./apply.ts";
import { concernedBy } from "./concerned-by.ts";
import { decideVolumeGroup } from "./decide.ts";
import { VolumeGroupReader } from "./read.ts";
import { StorageMemory } from "./storage-memory.ts";

export interface VolumeGroupOptions {
  /** Milliseconds between two looks at what is in a group on the storage system; default 300,000. */
  driftMs: number;
}

const GROUP = "group:";
const CONTENT = "content:";

/** Makes volume groups, and keeps their members those that they should be. */
export function runVolumeGroup(
  context: SidecarContext,
  { driftMs = 300_000 }: Partial<VolumeGroupOptions>,
  signal: AbortSignal,
): Promise<void> {
  const { cluster, concurrency, logger, now, retry } = context;
  const memory = new StorageMemory({ ...retry, now, periodMs: driftMs });
  const reader = new VolumeGroupReader(context, memory);
  const steps = new VolumeGroupSteps(context, memory, signal);
  const wake = concernedBy(cluster);
  const groupKeys = (keys: string[]) => keys.map((key) => GROUP + key);
  const contentKey = ({ metadata }: VolumeGroupContent) => CONTENT + metadata.name;
  const ofClaim = (claim: PersistentVolumeClaim) => [
    ...groupKeys(wake.groupsOf(claim)),
    ...wake.contentsOf(claim).map(contentKey),
  ];
  // By then the content that is gone cannot say its uid.
  const uids = new Map<string, string>();
  const content = (key: string) =>
    key.startsWith(CONTENT)
      ? cluster.volumeGroupContents.get(parseKey(key.slice(CONTENT.length)).name)
      : undefined;
  return runController(
    {
      name: "volume-group",
      logger,
      concurrency,
      sources: [
        source(cluster.volumeGroups, (group) => [
          GROUP + keyOf(group),
          ...cluster.volumeGroupContents.byIndex("group", keyOf(group)).map(contentKey),
        ]),
        source(cluster.volumeGroupContents, (content) => [
          contentKey(content),
          ...groupKeys(wake.groupsOfContent(content)),
        ]),
        source(cluster.volumeGroupClasses, ({ metadata }) => groupKeys(wake.groupsOfClass(metadata.name))),
        source(cluster.claims, ofClaim),
        source(cluster.volumes, (volume) => claimOf(context, volume).flatMap(ofClaim)),
      ],
      reconcile: async (key) => {
        const uid = content(key)?.metadata.uid;
        if (uid !== undefined) uids.set(key, uid);
        const look = key.startsWith(GROUP)
          ? (fresh: boolean) => reader.ofGroup(key.slice(GROUP.length), fresh)
          : (fresh: boolean) => reader.ofContent(parseKey(key.slice(CONTENT.length)).name, fresh);
        const result = await runSteps(
          { look, decide: decideVolumeGroup, apply: (step, view) => steps.apply(step, view) },
          signal,
        );
        if (content(key) === undefined) {
          memory.forget(uids.get(key) ?? "");
          uids.delete(key);
        }
        return result;
      },
    },
    signal,
  );
}

function claimOf({ cluster }: SidecarContext, { spec }: PersistentVolume): PersistentVolumeClaim[] {
  const { name = "", namespace = "" } = spec?.claimRef ?? {};
  const claim = cluster.claims.get(keyOf({ metadata: { name, namespace } }));
  return claim === undefined ? [] : [claim];
}
