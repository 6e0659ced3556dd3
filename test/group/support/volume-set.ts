import { mkdir, open, rm } from "node:fs/promises";
import { join } from "node:path";
import type { Driver } from "../../csi/support/driver.ts";
import { attach, capability, createVolume, detach, MIB } from "../../csi/support/volumes.ts";
import { RECORD_BYTES, SLOTS } from "./records.ts";

export type Access = "mount" | "block";

/** A volume that is published on the node, and where its records are. */
export interface PublishedVolume {
  id: string;
  /** Where it is published: a folder or a device. */
  target: string;
  /** The file or the device that records are in. */
  path: string;
  /** Unpublishes, unstages, detaches and deletes it. */
  undo(): Promise<void>;
}

/** Makes a volume, or restores one from a snapshot, and publishes it. */
export async function publishVolume(
  driver: Driver,
  name: string,
  access: Access,
  { snapshotId, size = 32n * MIB }: { snapshotId?: string | undefined; size?: bigint } = {},
): Promise<PublishedVolume> {
  const choice = access === "block" ? { access } : { access, fsType: "ext4" };
  const { volumeId: id } = await createVolume(driver, name, {
    choice,
    size,
    ...(snapshotId === undefined
      ? {}
      : { volumeContentSource: { type: { case: "snapshot" as const, value: { snapshotId } } } }),
  });
  await attach(driver, id, choice);
  const staging = driver.path(`staging-${id}`);
  const target = driver.path(`target-${id}`);
  await mkdir(staging);
  const common = { volumeId: id, stagingTargetPath: staging, volumeCapability: capability(choice) };
  await driver.node.nodeStageVolume(common);
  await driver.node.nodePublishVolume({ ...common, targetPath: target });
  const path = access === "block" ? target : join(target, "records");
  if (access === "mount" && snapshotId === undefined) await (await open(path, "wx")).close();
  return {
    id,
    target,
    path,
    undo: async () => {
      await driver.node.nodeUnpublishVolume({ volumeId: id, targetPath: target });
      await driver.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: staging });
      await rm(staging, { recursive: true, force: true });
      await detach(driver, id);
      await driver.controller.deleteVolume({ volumeId: id });
    },
  };
}

/** All records of a volume; what was never written reads as zeros. */
export async function readRecords({ path }: PublishedVolume): Promise<Buffer> {
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
