import {
  type EventRecorder,
  type Logger,
  type PersistentVolume,
  type Pod,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import type { CsiVolume } from "./csi-volume.ts";
import type { DeviceContext } from "./csi-volume-entry.ts";
import { applyDeviceStep, reportFailure } from "./csi-volume-steps.ts";
import { DeviceTable } from "./csi-volume-table.ts";
import { viewDevice } from "./csi-volume-view.ts";
import { decideDevice } from "./decide.ts";
import { type InUseReport, reportInUse } from "./in-use.ts";

/** The CSI volumes of the pods on this node. */
export interface VolumeManager {
  /** The pod needs these; again and again is fine. */
  want(pod: Pod, volumes: readonly CsiVolume[]): void;
  /** Nothing of the pod runs any more: its volumes may go. */
  release(podUID: string): void;
  isReady(podUID: string, volumes: readonly CsiVolume[]): boolean;
  /** The pod wants a volume, or one may still be published for it. */
  holds(podUID: string): boolean;
  /** Where the volume is for the pod. */
  pathOf(podUID: string, volume: CsiVolume): string;
  /** Pods that something may be published for. */
  podsOnDisk(): string[];
  /** Resolves when no volume is published or staged. */
  empty(signal: AbortSignal): Promise<void>;
  readonly done: Promise<void>;
}

export interface VolumeManagerOptions extends DeviceContext {
  events: EventRecorder;
  logger: Logger;
  /** A pod's volumes have changed. */
  changed: (podUID: string) => void;
  signal: AbortSignal;
}

export interface ManagerContext extends VolumeManagerOptions {
  table: DeviceTable;
  inUse: InUseReport;
}

/** Volumes that are worked on at the same time. */
const CONCURRENCY = 8;

export async function startVolumeManager(options: VolumeManagerOptions): Promise<VolumeManager> {
  const { store, view, paths, nodeName, logger, signal } = options;
  const table = await DeviceTable.fromDisk(paths);
  const inUse = reportInUse(store, nodeName, table.keys());
  // Before anything is decided: what is on disk counts as used until it has been looked at.
  await inUse.sync();
  const context: ManagerContext = { ...options, table, inUse };
  const queue = new WorkQueue({ baseMs: 250, maxMs: 60_000 });
  const known = (volume: PersistentVolume | undefined) => keysOf(volume).filter((key) => table.get(key));
  const done = runController(
    {
      ...{ name: "volume-manager", logger, queue, concurrency: CONCURRENCY },
      sources: [
        source(view.nodes, ({ metadata }) => (metadata.name === nodeName ? table.keys() : [])),
        source(view.claims, ({ spec }) => known(view.volumes.get(spec?.volumeName ?? ""))),
        source(view.volumes, known),
        source(view.drivers, () => table.keys()),
      ],
      reconcile: (key) => reconcile(context, key),
    },
    signal,
  );
  return {
    want(pod, volumes) {
      for (const volume of volumes) if (table.want(pod, volume)) queue.add(volume.key);
    },
    release(podUID) {
      for (const key of table.release(podUID)) queue.add(key);
    },
    isReady: (podUID, volumes) =>
      volumes.every(({ key }) => table.get(key)?.publications.get(podUID) === "yes"),
    holds: (podUID) => table.holds(podUID),
    pathOf: (podUID, volume) => paths.publishTarget(podUID, volume.volume, volume.block),
    podsOnDisk: () => table.publishedPods(),
    empty: (until) => table.empty(until),
    done,
  };
}

async function reconcile(context: ManagerContext, key: string): Promise<void> {
  for (;;) {
    const device = context.table.get(key);
    if (device === undefined) return;
    const step = decideDevice(await viewDevice(context, key, device));
    if (step.do === "wait" || step.do === "waitForAttach") return context.table.forget(key);
    try {
      await applyDeviceStep(context, key, device, step);
    } catch (error) {
      reportFailure(context, device, step, error);
      throw error;
    }
    context.signal.throwIfAborted();
  }
}

function keysOf(volume: PersistentVolume | undefined): string[] {
  const csi = volume?.spec?.csi;
  return csi === undefined ? [] : [uniqueVolumeName(csi.driver, csi.volumeHandle)];
}
