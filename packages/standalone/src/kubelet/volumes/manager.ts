import {
  type EventRecorder,
  type Logger,
  type Node,
  Nodes,
  type PersistentVolume,
  type Pod,
  runController,
  source,
  WorkQueue,
} from "@mooring/store";
import { uniqueVolumeName } from "../../controllers/attach-detach/names.ts";
import { type CsiVolume, expansionOf } from "./csi-volume.ts";
import { type Certainty, type DeviceStep, type DeviceView, decideDevice } from "./decide.ts";
import {
  type DeviceContext,
  expandOnNode,
  publishVolume,
  stageVolume,
  unpublishVolume,
  unstageVolume,
} from "./device.ts";
import { finishExpansion } from "./expansion.ts";
import { reportInUse } from "./in-use.ts";
import { readDeviceRecords, readPublications, type VolumeRecord } from "./records.ts";

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
  /** Pods that were found on disk. */
  podsOnDisk(): string[];
  /** Resolves when no volume is published or staged. */
  empty(signal: AbortSignal): Promise<void>;
  readonly done: Promise<void>;
}

interface Device {
  record: VolumeRecord;
  staged: Certainty;
  publications: Map<string, Certainty>;
  wants: Map<string, { pod: Pod; readOnly: boolean }>;
}

export interface VolumeManagerOptions extends DeviceContext {
  events: EventRecorder;
  logger: Logger;
  /** A pod's volumes have changed. */
  changed: (podUID: string) => void;
  signal: AbortSignal;
}

export async function startVolumeManager(options: VolumeManagerOptions): Promise<VolumeManager> {
  const { store, view, paths, nodeName, events, logger, changed, signal } = options;
  const devices = await reconstruct(options);
  const released = new Set<string>();
  const emptied = new Set<() => void>();
  const inUse = reportInUse(store, nodeName, devices.keys());
  // Before anything is decided: what is on disk counts as used until it has been looked at.
  await inUse.sync();
  const queue = new WorkQueue({ baseMs: 250, maxMs: 60_000 });

  const done = runController(
    {
      name: "volume-manager",
      logger,
      queue,
      concurrency: 8,
      sources: [
        source(view.nodes, ({ metadata }) => (metadata.name === nodeName ? [...devices.keys()] : [])),
        source(view.claims, ({ spec }) => known(keysOf(view.volumes.get(spec?.volumeName ?? "")))),
        source(view.volumes, (volume) => known(keysOf(volume))),
        source(view.drivers, () => [...devices.keys()]),
      ],
      reconcile: (key) => reconcile(key),
    },
    signal,
  );

  function known(keys: readonly string[]): string[] {
    return keys.filter((key) => devices.has(key));
  }

  function needsAttach(device: Device): boolean {
    return view.drivers.get(device.record.driverName)?.spec?.attachRequired !== false;
  }

  async function look(key: string, device: Device): Promise<DeviceView> {
    const wanted = device.wants.size > 0;
    const attaches = needsAttach(device);
    const attached = device.staged === "yes" || (wanted && attaches && (await isAttached(key)));
    return {
      wantedBy: [...device.wants.keys()],
      publications: [...device.publications].map(([podUID, state]) => ({
        podUID,
        state,
        held: !released.has(podUID),
      })),
      staged: device.staged,
      needsAttach: attaches,
      reportedInUse: inUse.has(key),
      attached,
      needsExpansion: wanted && expansion(device) !== undefined,
    };
  }

  async function isAttached(key: string): Promise<boolean> {
    const lists = (node: Node | undefined) =>
      (node?.status?.volumesAttached ?? []).some(({ name }) => name === key);
    if (!inUse.has(key) || !lists(view.nodes.get(nodeName))) return false;
    // From the store, and after our own report: what the cache shows may be from before the last detach.
    return lists(await store.get(Nodes, { name: nodeName }, signal));
  }

  function expansion(device: Device): bigint | undefined {
    const volume = view.volumes.get(device.record.specVolID);
    const reference = volume?.spec?.claimRef;
    const claim = view.claims.get(`${reference?.namespace}/${reference?.name}`);
    const readOnly = [...device.wants.values()].every((want) => want.readOnly);
    return readOnly ? undefined : expansionOf(claim, volume);
  }

  async function reconcile(key: string): Promise<void> {
    for (;;) {
      const device = devices.get(key);
      if (device === undefined) return;
      const step = decideDevice(await look(key, device));
      if (step.do === "wait" || step.do === "waitForAttach") {
        forget(key, device);
        return;
      }
      try {
        await apply(key, device, step);
      } catch (error) {
        tell(device, step, error);
        throw error;
      }
      signal.throwIfAborted();
    }
  }

  function forget(key: string, device: Device): void {
    if (device.wants.size + device.publications.size > 0 || device.staged !== "no") return;
    devices.delete(key);
    if (devices.size === 0) for (const resolve of emptied) resolve();
  }

  async function apply(key: string, device: Device, step: DeviceStep): Promise<void> {
    switch (step.do) {
      case "reportInUse":
        return inUse.add(key);
      case "reportUnused":
        return inUse.remove(key);
      case "stage":
        // From here to its end nobody can say whether it is staged.
        device.staged = "maybe";
        await stageVolume(options, device.record, needsAttach(device), signal);
        device.staged = "yes";
        return;
      case "unstage":
        device.staged = "maybe";
        await unstageVolume(options, device.record, signal);
        device.staged = "no";
        return;
      case "publish":
        return publish(device, step.podUID);
      case "unpublish":
        device.publications.set(step.podUID, "maybe");
        await unpublishVolume(options, device.record, step.podUID, signal);
        device.publications.delete(step.podUID);
        if (!holds(step.podUID)) released.delete(step.podUID);
        changed(step.podUID);
        return;
      case "expand":
        return expand(device);
    }
  }

  async function publish(device: Device, podUID: string): Promise<void> {
    const want = device.wants.get(podUID);
    if (want === undefined) return;
    device.publications.set(podUID, "maybe");
    await publishVolume(options, device.record, want, needsAttach(device), signal);
    device.publications.set(podUID, "yes");
    changed(podUID);
  }

  async function expand(device: Device): Promise<void> {
    const bytes = expansion(device);
    if (bytes === undefined) return;
    const published = [...device.publications].find(([, state]) => state === "yes")?.[0];
    await expandOnNode(options, device.record, bytes, published, signal);
    await finishExpansion(store, view.volumes.get(device.record.specVolID));
    for (const { pod } of device.wants.values()) {
      const message = `MountVolume.NodeExpandVolume succeeded for volume "${device.record.specVolID}" ${nodeName}`;
      events.event(pod, "Normal", "FileSystemResizeSuccessful", message);
    }
  }

  function tell(device: Device, step: DeviceStep, error: unknown): void {
    const text = error instanceof Error ? error.message : String(error);
    const [reason, what] = FAILURES[step.do] ?? ["FailedMount", step.do];
    for (const { pod } of device.wants.values()) {
      events.event(
        pod,
        "Warning",
        reason,
        `${what} failed for volume "${device.record.specVolID}" : ${text}`,
      );
    }
  }

  function holds(podUID: string): boolean {
    return [...devices.values()].some(
      ({ publications, wants }) => publications.has(podUID) || wants.has(podUID),
    );
  }

  return {
    want(pod, volumes) {
      const uid = pod.metadata.uid ?? "";
      released.delete(uid);
      for (const volume of volumes) {
        const device = devices.get(volume.key) ?? {
          record: recordOf(volume),
          staged: "no",
          publications: new Map(),
          wants: new Map(),
        };
        devices.set(volume.key, device);
        const isNew = !device.wants.has(uid);
        device.wants.set(uid, { pod, readOnly: volume.readOnly });
        if (isNew) queue.add(volume.key);
      }
    },
    release(podUID) {
      for (const [key, device] of devices) {
        if (device.wants.delete(podUID) || device.publications.has(podUID)) queue.add(key);
      }
      if (holds(podUID)) released.add(podUID);
    },
    isReady: (podUID, volumes) =>
      volumes.every(({ key }) => devices.get(key)?.publications.get(podUID) === "yes"),
    holds,
    pathOf: (podUID, volume) => paths.publishTarget(podUID, volume.volume, volume.block),
    podsOnDisk: () => [
      ...new Set([...devices.values()].flatMap((device) => [...device.publications.keys()])),
    ],
    empty: (until) =>
      new Promise((resolve, reject) => {
        if (devices.size === 0) resolve();
        emptied.add(resolve);
        until.addEventListener("abort", () => reject(until.reason), { once: true });
      }),
    done,
  };
}

/** What to call a failure, and its name in Kubernetes' messages. */
const FAILURES: Partial<Record<DeviceStep["do"], readonly [reason: string, operation: string]>> = {
  stage: ["FailedMount", "MountVolume.MountDevice"],
  publish: ["FailedMount", "MountVolume.SetUp"],
  unpublish: ["FailedUnMount", "UnmountVolume.TearDown"],
  unstage: ["FailedUnMount", "UnmountDevice"],
  expand: ["FileSystemResizeFailed", "MountVolume.NodeExpandVolume"],
};

function recordOf(volume: CsiVolume): VolumeRecord {
  const { driver, handle, block } = volume;
  return {
    driverName: driver,
    volumeHandle: handle,
    specVolID: volume.volume,
    volumeMode: block ? "Block" : "Filesystem",
  };
}

function keysOf(volume: PersistentVolume | undefined): string[] {
  const csi = volume?.spec?.csi;
  return csi === undefined ? [] : [uniqueVolumeName(csi.driver, csi.volumeHandle)];
}

/** Everything on disk may or may not be as its record says: it is done again, or undone, before it counts. */
async function reconstruct({ paths }: DeviceContext): Promise<Map<string, Device>> {
  const devices = new Map<string, Device>();
  const deviceOf = (record: VolumeRecord): Device => {
    const key = uniqueVolumeName(record.driverName, record.volumeHandle);
    const device = devices.get(key) ?? { record, staged: "no", publications: new Map(), wants: new Map() };
    devices.set(key, device);
    return device;
  };
  for (const record of await readDeviceRecords(paths)) deviceOf(record).staged = "maybe";
  for (const { podUID, ...record } of await readPublications(paths))
    deviceOf(record).publications.set(podUID, "maybe");
  return devices;
}
