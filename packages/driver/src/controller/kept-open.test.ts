import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { Code, CsiError } from "@mooring/csi";
import { capability, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

/** As every caller does with ABORTED: the agent reads again whether the volume is free when its backoff is over. */
async function repeated<T>(call: () => Promise<T>): Promise<T> {
  for (let left = 10; ; left -= 1) {
    try {
      return await call();
    } catch (error) {
      const isPending = error instanceof CsiError && error.code === Code.ABORTED;
      if (!isPending || left === 0) throw error;
    }
  }
}

describe("a volume that is detached while it is still mounted", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  test("calls that copy it say what they wait for, and succeed once it is unmounted", async () => {
    const { client, nodeID } = world;
    const id = await createVolume(world, "open");
    const { path, undo } = await stage(world, id);
    const { controller, groupController } = client;
    await controller.controllerUnpublishVolume({ volumeId: id, nodeId: nodeID });
    const type = { case: "volume" as const, value: { volumeId: id } };
    const snap = () => controller.createSnapshot({ name: "snap", sourceVolumeId: id });
    const snapGroup = () =>
      groupController.createVolumeGroupSnapshot({ name: "group", sourceVolumeIds: [id] });
    const copy = () =>
      controller.createVolume({
        ...{ name: "copy", volumeCapabilities: [capability()], volumeContentSource: { type } },
      });
    for (const call of [snap, snapGroup, copy]) {
      const { code, message } = await failureOf(call());
      assert.equal(code, "ABORTED", message);
      assert.ok(message.includes(path), message);
    }
    await client.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
    const { snapshot } = await repeated(snap);
    const { groupSnapshot } = await repeated(snapGroup);
    const { volume } = await repeated(copy);
    assert.equal(snapshot?.readyToUse, true);
    assert.equal(groupSnapshot?.readyToUse, true);
    await undo();
    await controller.deleteSnapshot({ snapshotId: snapshot.snapshotId });
    const snapshotIds = groupSnapshot.snapshots.map(({ snapshotId }) => snapshotId);
    const { groupSnapshotId } = groupSnapshot;
    await groupController.deleteVolumeGroupSnapshot({ groupSnapshotId, snapshotIds });
    for (const volumeId of [id, volume?.volumeId ?? ""]) await controller.deleteVolume({ volumeId });
  });
});
