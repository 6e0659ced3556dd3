import { mkdir } from "node:fs/promises";
import { type Driver, NODE } from "./driver.ts";
import { capability, cut, detach, MIB, remove, volumeId } from "./volumes.ts";

/** One mutating call: what must be there before it, the call, and how to take everything away after it. */
export interface Story {
  prepare(driver: Driver): Promise<string>;
  call(driver: Driver, subject: string): Promise<unknown>;
  undo(driver: Driver, subject: string): Promise<void>;
}

const volumeCapability = capability({ fsType: "xfs" });
const SIZE = 320n * MIB;
const capacityRange = { requiredBytes: SIZE };
const grown = { requiredBytes: 384n * MIB };
const more = { choice: { fsType: "xfs" }, size: SIZE };
const staging = (driver: Driver) => driver.path("crash-staging");
const target = (driver: Driver) => driver.path("crash-target");

const make = (driver: Driver) => volumeId(driver, "crash", more);
const attach = (driver: Driver, id: string) =>
  driver.controller.controllerPublishVolume({ volumeId: id, nodeId: NODE, volumeCapability });
const stage = (driver: Driver, id: string) =>
  driver.node.nodeStageVolume({ volumeId: id, stagingTargetPath: staging(driver), volumeCapability });
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

/** Two volumes in use, of which a group is cut; the subject is their ids. */
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

const cutGroup = (driver: Driver, ids: string) =>
  driver.client.groupController.createVolumeGroupSnapshot({ name: "crash", sourceVolumeIds: ids.split(",") });

async function undoGroup(driver: Driver, ids: string): Promise<void> {
  const { groupSnapshot } = await cutGroup(driver, ids);
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

type GroupSnapshot = Awaited<ReturnType<typeof cutGroup>>["groupSnapshot"];

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
      const { snapshotId } = await cut(driver, "source", id);
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
  ControllerModifyVolume: {
    prepare: (driver) => prepared(driver, attach),
    call: (driver, id) =>
      driver.controller.controllerModifyVolume({ volumeId: id, mutableParameters: { readAheadKiB: "256" } }),
    undo: undoVolume,
  },
  CreateSnapshot: {
    prepare: (driver) => prepared(driver, attach, stage),
    call: (driver, id) => driver.controller.createSnapshot({ name: "crash", sourceVolumeId: id }),
    undo: undoSnapshot,
  },
  DeleteSnapshot: {
    prepare: async (driver) => {
      const id = await make(driver);
      const { snapshotId } = await cut(driver, "crash", id);
      await remove(driver, id);
      return snapshotId;
    },
    call: (driver, snapshotId) => driver.controller.deleteSnapshot({ snapshotId }),
    undo: async () => {},
  },
  CreateVolumeGroupSnapshot: { prepare: prepareGroup, call: cutGroup, undo: undoGroup },
  DeleteVolumeGroupSnapshot: {
    prepare: async (driver) => {
      const ids = await prepareGroup(driver);
      const { groupSnapshot } = await cutGroup(driver, ids);
      await undoMembers(driver, ids);
      return subjectOfGroup(groupSnapshot);
    },
    call: deleteGroup,
    undo: async () => {},
  },
  NodeStageVolume: { prepare: (driver) => prepared(driver, attach), call: stage, undo: undoVolume },
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
    call: (driver, id) => driver.node.nodeExpandVolume({ volumeId: id, volumePath: staging(driver) }),
    undo: undoVolume,
  },
};
