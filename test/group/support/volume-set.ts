import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { CsiClient } from "@mooring/csi";
import { TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { eventually } from "@mooring/store/testing";
import { type Driver, NODE } from "../../csi/support/driver.ts";
import { capability, MIB } from "../../csi/support/volumes.ts";
import type { Machine } from "../../nodes/support/machine.ts";
import { RECORD_BYTES, SLOTS } from "./records.ts";

export type Access = "mount" | "block";

/** A node that volumes are published on. */
export interface Site {
  controller: CsiClient["controller"];
  node: CsiClient["node"];
  nodeId: string;
  /** A path for mounts, as the node sees it. */
  path(name: string): string;
  /** How this process reaches a path of the node. */
  seen(path: string): string;
  /** Where the node's pool has its images, as the node sees it. */
  images: string;
  /** What a command begins with that is to run where the node is. */
  enter: readonly string[];
}

/** Images of a pool, below a state folder. */
const imagesOf = (pool: string) => `pools/${pool}/mnt/images`;

/** The one node of a driver that runs alone. */
export function siteOf(driver: Driver): Site {
  const { controller, node } = driver.client;
  return {
    controller,
    node,
    nodeId: NODE,
    path: (name) => driver.path(name),
    seen: (path) => path,
    images: join(driver.stateDir, imagesOf("default")),
    enter: [],
  };
}

/** A machine with a mount namespace of its own; the controller is elsewhere. */
export async function siteOfMachine(machine: Machine, { controller }: CsiClient): Promise<Site> {
  const seen = (path: string) => `/proc/${machine.pid}/root${path}`;
  const folder = join(machine.stateDir, "mounts");
  await mkdir(folder, { recursive: true });
  const { node } = await machine.csi();
  return {
    controller,
    node,
    nodeId: machine.name,
    path: (name) => join(folder, name),
    seen,
    images: join(machine.stateDir, imagesOf(`default-${machine.name}`)),
    enter: ["nsenter", "--target", String(machine.pid), "--mount"],
  };
}

/** A volume that is published, and where its records are. */
export interface PublishedVolume {
  id: string;
  site: Site;
  access: Access;
  /** Where it is published, as this process reaches it: a folder or a device. */
  target: string;
  /** The file or the device that records are in. */
  path: string;
  /** Unpublishes, unstages, detaches and deletes it. */
  undo(): Promise<void>;
}

export interface VolumeWish {
  access: Access;
  snapshotId?: string | undefined;
  size?: bigint;
}

/** Makes a volume on a node, or restores one there from a snapshot, and publishes it. */
export async function publishVolume(site: Site, name: string, wish: VolumeWish): Promise<PublishedVolume> {
  const { access, snapshotId } = wish;
  const { controller, node } = site;
  const volumeCapability = capability(access === "block" ? { access } : { access, fsType: "ext4" });
  const volumeId = await createOn(site, name, wish, volumeCapability);
  const attachment = { volumeId, nodeId: site.nodeId };
  await repeated(() => controller.controllerPublishVolume({ ...attachment, volumeCapability }));
  const stagingTargetPath = site.path(`staging-${volumeId}`);
  const targetPath = site.path(`target-${volumeId}`);
  await mkdir(stagingTargetPath);
  const staged = { volumeId, stagingTargetPath, volumeCapability };
  await repeated(() => node.nodeStageVolume(staged));
  await repeated(() => node.nodePublishVolume({ ...staged, targetPath }));
  const target = site.seen(targetPath);
  const path = access === "block" ? target : join(target, "records");
  if (access === "mount" && snapshotId === undefined) await (await open(path, "wx")).close();
  const undo = async () => {
    await repeated(() => node.nodeUnpublishVolume({ volumeId, targetPath }));
    await repeated(() => node.nodeUnstageVolume({ volumeId, stagingTargetPath }));
    await rm(stagingTargetPath, { recursive: true, force: true });
    await repeated(() => controller.controllerUnpublishVolume(attachment));
    await repeated(() => controller.deleteVolume({ volumeId }));
  };
  return { id: volumeId, site, access, target, path, undo };
}

/** As an orchestrator does: a call is repeated while its result is that it cannot be done right now. */
function repeated<T extends object>(call: () => Promise<T>): Promise<T> {
  return eventually("a response", () =>
    call().catch((error: { codeName?: string }) => {
      if (error.codeName === "UNAVAILABLE") return undefined;
      throw error;
    }),
  );
}

async function createOn(
  { controller, nodeId }: Site,
  name: string,
  { size = 32n * MIB, snapshotId }: VolumeWish,
  volumeCapability: ReturnType<typeof capability>,
): Promise<string> {
  const here = [{ segments: { [TOPOLOGY_NODE_KEY]: nodeId } }];
  const { volume } = await controller.createVolume({
    name,
    capacityRange: { requiredBytes: size },
    volumeCapabilities: [volumeCapability],
    accessibilityRequirements: { requisite: here, preferred: here },
    ...(snapshotId === undefined
      ? {}
      : { volumeContentSource: { type: { case: "snapshot", value: { snapshotId } } } }),
  });
  return volume?.volumeId ?? "";
}

/** All records of a file or a device; what was never written reads as zeros. */
export async function readRecordsAt(path: string): Promise<Buffer> {
  const file = await open(path, "r");
  try {
    const bytes = Buffer.alloc(SLOTS * RECORD_BYTES);
    await file.read(bytes, 0, bytes.length, 0);
    return bytes;
  } finally {
    await file.close();
  }
}

/** Like Promise.all over the items, a few at a time: a node has two hands as well. */
export async function mapSome<T, R>(
  items: readonly T[],
  work: (item: T, index: number) => Promise<R>,
  atOnce = 4,
): Promise<R[]> {
  const results: R[] = [];
  let next = 0;
  const hand = async (): Promise<void> => {
    for (let index = next++; index < items.length; index = next++) {
      results[index] = await work(items[index] as T, index);
    }
  };
  await Promise.all(Array.from({ length: atOnce }, hand));
  return results;
}
