import { type Outcome, type Pod, Reconciler, stepFailpoints } from "@mooring/store";
import { applyCsiVolumeStep, reportFailure } from "./apply.ts";
import type { ManagerContext, VolumeManagerOptions } from "./context.ts";
import type { CsiVolume } from "./csi-volume.ts";
import { CsiVolumeTable } from "./csi-volume-table.ts";
import { type ActiveCsiVolumeStep, decideStep, isUnused } from "./decide.ts";
import { reportInUse } from "./in-use.ts";
import { type ReadCsiVolume, readCsiVolume } from "./read.ts";

const failpoints = stepFailpoints<ActiveCsiVolumeStep>("standalone/kubelet/volumes", {
  "report-in-use": true,
  stage: true,
  expand: true,
  publish: true,
  republish: true,
  unpublish: true,
  unstage: true,
  "report-unused": true,
});

/** The CSI volumes of the pods on this node. */
export interface VolumeManager {
  /** The pod needs these; again and again is fine. */
  want(pod: Pod, volumes: readonly CsiVolume[]): void;
  /** Nothing of the pod runs any more: its volumes may go. */
  release(podUID: string): void;
  isReady(podUID: string, volumes: readonly CsiVolume[]): boolean;
  /** The volume is published for the pod, and its driver has mounted it there: not all do. */
  isMounted(podUID: string, volume: CsiVolume): boolean;
  /** The pod wants a volume, or one may still be published for it. */
  isUsing(podUID: string): boolean;
  /** The pod waits for a volume that is still to be attached, or staged. */
  isStaging(podUID: string): boolean;
  /** The pod has released the volume, and something is still published for it. */
  isReleasing(podUID: string): boolean;
  /** Where the volume is for the pod. */
  pathOf(podUID: string, volume: CsiVolume): string;
  /** Pods that something may be published for. */
  podsOnDisk(): string[];
  /** How many volumes of the driver are, or may be, on this node. */
  volumesOf(driver: string): number;
  /** The driver has come, or has left: its volumes are tried again now. */
  retry(driver: string): void;
  /** Resolves when no volume is published or staged but those of drivers that are not here: keys of these. */
  empty(signal: AbortSignal): Promise<string[]>;
  readonly done: Promise<void>;
}

/** Volumes that are worked on at the same time. */
const CONCURRENCY = 8;

/** A volume may be published for every pod of the node. */
const MOST_STEPS = 500;

/** Resolves when what an earlier process has left mounted is known. */
export async function startVolumeManager(options: VolumeManagerOptions): Promise<VolumeManager> {
  const { store, paths, nodeName, drivers, signal } = options;
  const table = await CsiVolumeTable.fromDisk(paths);
  const inUse = reportInUse(store, nodeName, table.keys());
  // Before anything is decided: what is on disk counts as used until it has been checked.
  await inUse.sync();
  const reconciler = reconcilerOf({ ...options, table, inUse });
  return {
    want(pod, volumes) {
      for (const volume of volumes) if (table.want(pod, volume)) reconciler.add(volume.key);
    },
    release(podUID) {
      for (const key of table.release(podUID)) reconciler.add(key);
    },
    isReady: (podUID, volumes) =>
      volumes.every(({ key }) => table.get(key)?.publications.get(podUID) === "yes"),
    isMounted: (podUID, { key }) => {
      const entry = table.get(key);
      return entry?.publications.get(podUID) === "yes" && !entry.mountless.has(podUID);
    },
    isUsing: (podUID) => table.isUsing(podUID),
    isStaging: (podUID) => table.isStaging(podUID),
    isReleasing: (podUID) => table.hasReleased(podUID),
    pathOf: (podUID, volume) => paths.publishTarget(podUID, volume.volume, volume.block),
    podsOnDisk: () => table.publishedPods(),
    volumesOf: (driver) => table.keysOf(driver).length,
    retry(driver) {
      for (const key of table.keysOf(driver)) reconciler.add(key);
      table.checkEmpty();
    },
    empty: (until) => table.empty(until, ({ record }) => drivers.has(record.driverName)),
    done: reconciler.run(signal),
  };
}

/**
 * Keys are those of the table of volumes, which reports its changes to the controller itself: no object stands for what is
 * on this machine.
 */
function reconcilerOf(context: ManagerContext): Reconciler<ReadCsiVolume, ActiveCsiVolumeStep | Outcome> {
  const { store, view, logger, table } = context;
  return new Reconciler<ReadCsiVolume, ActiveCsiVolumeStep | Outcome>({
    ...{ name: "volume-manager", store, logger, failpoints, concurrency: CONCURRENCY, mostSteps: MOST_STEPS },
    backoff: { baseMs: 250, maxMs: 60_000 },
    sources: [],
    watched: [view.nodes, view.claims, view.volumes, view.drivers],
    keys: () => table.keys(),
    read: (key, from) => readCsiVolume(context, key, from),
    isGone: isUnused,
    decide: decideStep,
    async apply(step, { key, entry }) {
      try {
        await applyCsiVolumeStep(context, key, entry, step);
      } catch (error) {
        reportFailure(context, entry, step, error);
        throw error;
      }
    },
    ended: async (key) => table.forget(key),
  });
}
