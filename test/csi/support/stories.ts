import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, statfs } from "node:fs/promises";
import { basename } from "node:path";
import { type Driver, host, NODE } from "./driver.ts";
import { capability, createSnapshot, detach, MIB, remove, volumeId } from "./volumes.ts";

/** One mutating call: what must be there before it, the call, and how to take everything away after it. */
export interface Story {
  prepare(driver: Driver): Promise<string>;
  /** Resolves with the response, and with what the machine shows of the call where the response does not. */
  call(driver: Driver, subject: string): Promise<unknown>;
  undo(driver: Driver, subject: string): Promise<void>;
}

const volumeCapability = capability({ fsType: "xfs" });
const SIZE = 320n * MIB;
const capacityRange = { requiredBytes: SIZE };
const grown = { requiredBytes: 384n * MIB };
/** What XFS of this size keeps for its journal, and does not count as its own. */
const XFS_LOG = 64n * MIB;
const more = { choice: { fsType: "xfs" }, size: SIZE };
const staging = (driver: Driver) => driver.path("crash-staging");
const target = (driver: Driver) => driver.path("crash-target");

const make = (driver: Driver) => volumeId(driver, "crash", more);
const attach = (driver: Driver, id: string, as = volumeCapability) =>
  driver.controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability: as });
const stage = (driver: Driver, id: string, as = volumeCapability) =>
  driver.node.nodeStageVolume({ volumeId: id, stagingTargetPath: staging(driver), volumeCapability: as });
const publish = (driver: Driver, id: string) =>
  driver.node.nodePublishVolume({
    ...{ volumeId: id, stagingTargetPath: staging(driver), targetPath: target(driver), volumeCapability },
  });
const unpublish = (driver: Driver, id: string) =>
  driver.node.nodeUnpublishVolume({ volumeId: id, targetPath: target(driver) });
const unstage = (driver: Driver, id: string) =>
  driver.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: staging(driver) });

async function prepared(driver: Driver, ...steps: ((driver: Driver, id: string) => Promise<unknown>)[]) {
  const id = await make(driver);
  await mkdir(staging(driver), { recursive: true });
  for (const step of steps) await step(driver, id);
  return id;
}

/** Every step is idempotent, so what was never done is undone as well. */
async function undoVolume(driver: Driver, id: string): Promise<void> {
  await unpublish(driver, id);
  await unstage(driver, id);
  await detach(driver, id);
  await remove(driver, id);
}

/** ext4: its mount takes a change of `discard` at once. */
const tunable = capability({ fsType: "ext4" });

const tune = (driver: Driver, id: string, mutableParameters: Record<string, string>) =>
  driver.controller.controllerModifyVolume({ volumeId: id, mutableParameters });

/** Staged with other values than the call is to set. */
async function prepareTuned(driver: Driver): Promise<string> {
  const id = await volumeId(driver, "crash", { ...more, choice: { fsType: "ext4" } });
  await mkdir(staging(driver), { recursive: true });
  await tune(driver, id, { readAheadKiB: "512", discard: "false" });
  await attach(driver, id, tunable);
  await stage(driver, id, tunable);
  return id;
}

async function tuned(driver: Driver, id: string): Promise<unknown> {
  const response = await tune(driver, id, { readAheadKiB: "256", discard: "true" });
  const [mount] = await host.mounts.at(staging(driver));
  assert.ok(mount, "the volume is still mounted");
  const readAhead = await readFile(`/sys/block/${basename(mount.source)}/queue/read_ahead_kb`, "utf8");
  assert.equal(readAhead.trim(), "256");
  assert.ok(mount.superOptions.includes("discard"), mount.superOptions.join());
  return response;
}

async function expandOnNode(driver: Driver, id: string): Promise<unknown> {
  const response = await driver.node.nodeExpandVolume({ volumeId: id, volumePath: staging(driver) });
  const { blocks, bsize } = await statfs(staging(driver));
  assert.equal(BigInt(blocks * bsize), grown.requiredBytes - XFS_LOG);
  return response;
}

async function undoSnapshot(driver: Driver, sourceId: string): Promise<void> {
  for (const { snapshot } of (await driver.controller.listSnapshots({})).entries) {
    await driver.controller.deleteSnapshot({ snapshotId: snapshot?.snapshotId ?? "" });
  }
  await undoVolume(driver, sourceId);
}

const copyOf = (snapshotId: string) => ({ case: "snapshot" as const, value: { snapshotId } });

const cloneVolume = (driver: Driver, id: string) =>
  driver.controller.createVolume({
    ...{ name: "clone", capacityRange: grown, volumeCapabilities: [volumeCapability] },
    volumeContentSource: { type: { case: "volume", value: { volumeId: id } } },
  });

const members = ["crash", "crash-too"];

/** Two volumes in use, of which a group snapshot is made; the subject is their ids. */
async function prepareGroup(driver: Driver): Promise<string> {
  const ids: string[] = [];
  for (const name of members) {
    const id = await volumeId(driver, name, more);
    const stagingTargetPath = driver.path(`staging-${name}`);
    await mkdir(stagingTargetPath, { recursive: true });
    await attach(driver, id);
    await driver.node.nodeStageVolume({ volumeId: id, stagingTargetPath, volumeCapability });
    ids.push(id);
  }
  return ids.join();
}

const createGroupSnapshot = (driver: Driver, ids: string) =>
  driver.client.groupController.createVolumeGroupSnapshot({
    ...{ name: "crash", sourceVolumeIds: ids.split(","), parameters: { deadlineSeconds: "60" } },
  });

async function undoGroup(driver: Driver, ids: string): Promise<void> {
  const { groupSnapshot } = await createGroupSnapshot(driver, ids);
  await deleteGroup(driver, subjectOfGroup(groupSnapshot));
  await undoMembers(driver, ids);
}

async function undoMembers(driver: Driver, ids: string): Promise<void> {
  for (const [index, id] of ids.split(",").entries()) {
    const stagingTargetPath = driver.path(`staging-${members[index]}`);
    await driver.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath });
    await detach(driver, id);
    await remove(driver, id);
  }
}

type GroupSnapshot = Awaited<ReturnType<typeof createGroupSnapshot>>["groupSnapshot"];

/** The ids of a group and of its snapshots. */
const subjectOfGroup = (group: GroupSnapshot): string =>
  [group?.groupSnapshotId, ...(group?.snapshots ?? []).map(({ snapshotId }) => snapshotId)].join();

function deleteGroup(driver: Driver, subject: string): Promise<unknown> {
  const [groupSnapshotId = "", ...snapshotIds] = subject.split(",");
  return driver.client.groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
}

export const STORIES: Readonly<Record<string, Story>> = {
  CreateVolume: {
    prepare: async () => "",
    call: (driver) =>
      driver.controller.createVolume({
        ...{ name: "crash", capacityRange, volumeCapabilities: [volumeCapability] },
      }),
    undo: async (driver) => remove(driver, await make(driver)),
  },
  "CreateVolume from a snapshot": {
    prepare: async (driver) => {
      const id = await make(driver);
      const { snapshotId } = await createSnapshot(driver, "source", id);
      await remove(driver, id);
      return snapshotId;
    },
    call: (driver, snapshotId) =>
      driver.controller.createVolume({
        ...{ name: "copy", capacityRange: grown, volumeCapabilities: [volumeCapability] },
        volumeContentSource: { type: copyOf(snapshotId) },
      }),
    undo: async (driver, snapshotId) => {
      const volumeContentSource = { type: copyOf(snapshotId) };
      await remove(
        driver,
        await volumeId(driver, "copy", { ...more, size: 384n * MIB, volumeContentSource }),
      );
      await driver.controller.deleteSnapshot({ snapshotId });
    },
  },
  "CreateVolume from a volume": {
    prepare: (driver) => prepared(driver, attach, stage),
    call: cloneVolume,
    undo: async (driver, id) => {
      await remove(driver, (await cloneVolume(driver, id)).volume?.volumeId ?? "");
      await undoVolume(driver, id);
    },
  },
  DeleteVolume: {
    prepare: make,
    call: (driver, id) => driver.controller.deleteVolume({ volumeId: id }),
    undo: async () => {},
  },
  ControllerPublishVolume: { prepare: make, call: attach, undo: undoVolume },
  ControllerUnpublishVolume: {
    prepare: (driver) => prepared(driver, attach),
    call: (driver, id) => driver.controller.controllerUnpublishVolume({ volumeId: id, nodeId: NODE }),
    undo: undoVolume,
  },
  ControllerExpandVolume: {
    prepare: (driver) => prepared(driver, attach),
    call: (driver, id) => driver.controller.controllerExpandVolume({ volumeId: id, capacityRange: grown }),
    undo: undoVolume,
  },
  ControllerModifyVolume: { prepare: prepareTuned, call: tuned, undo: undoVolume },
  CreateSnapshot: {
    prepare: (driver) => prepared(driver, attach, stage),
    call: (driver, id) => driver.controller.createSnapshot({ name: "crash", sourceVolumeId: id }),
    undo: undoSnapshot,
  },
  DeleteSnapshot: {
    prepare: async (driver) => {
      const id = await make(driver);
      const { snapshotId } = await createSnapshot(driver, "crash", id);
      await remove(driver, id);
      return snapshotId;
    },
    call: (driver, snapshotId) => driver.controller.deleteSnapshot({ snapshotId }),
    undo: async () => {},
  },
  CreateVolumeGroupSnapshot: { prepare: prepareGroup, call: createGroupSnapshot, undo: undoGroup },
  DeleteVolumeGroupSnapshot: {
    prepare: async (driver) => {
      const ids = await prepareGroup(driver);
      const { groupSnapshot } = await createGroupSnapshot(driver, ids);
      await undoMembers(driver, ids);
      return subjectOfGroup(groupSnapshot);
    },
    call: deleteGroup,
    undo: async () => {},
  },
  NodeStageVolume: {
    prepare: async (driver) => {
      const id = await make(driver);
      await attach(driver, id);
      return id;
    },
    call: stage,
    undo: async (driver, id) => {
      await undoVolume(driver, id);
      assert.equal(existsSync(staging(driver)), false, "the driver made the folder, and takes it away");
    },
  },
  NodeUnstageVolume: {
    prepare: (driver) => prepared(driver, attach, stage),
    call: unstage,
    undo: undoVolume,
  },
  NodePublishVolume: {
    prepare: (driver) => prepared(driver, attach, stage),
    call: publish,
    undo: undoVolume,
  },
  NodeUnpublishVolume: {
    prepare: (driver) => prepared(driver, attach, stage, publish),
    call: unpublish,
    undo: undoVolume,
  },
  NodeExpandVolume: {
    prepare: async (driver) => {
      const id = await prepared(driver, attach, stage);
      await driver.controller.controllerExpandVolume({ volumeId: id, capacityRange: grown });
      return id;
    },
    call: expandOnNode,
    undo: undoVolume,
  },
};
