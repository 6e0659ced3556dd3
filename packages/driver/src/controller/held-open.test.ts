import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { capability, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

describe("a volume that is detached while it is still mounted", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  test("calls that copy it say what they wait for, and succeed once it is unmounted", async () => {
    const { client, nodeID } = world;
    const id = await createVolume(world, "held");
    const { path, undo } = await stage(world, id);
    const { controller, groupController } = client;
    const detach = controller.controllerUnpublishVolume({ volumeId: id, nodeId: nodeID });
    assert.equal((await failureOf(detach)).code, "FAILED_PRECONDITION");
    const type = { case: "volume" as const, value: { volumeId: id } };
    const cut = () => controller.createSnapshot({ name: "cut", sourceVolumeId: id });
    const cutGroup = () =>
      groupController.createVolumeGroupSnapshot({ name: "group", sourceVolumeIds: [id] });
    const copy = () =>
      controller.createVolume({
        ...{ name: "copy", volumeCapabilities: [capability()], volumeContentSource: { type } },
      });
    for (const call of [cut, cutGroup, copy]) {
      const { code, message } = await failureOf(call());
      assert.equal(code, "ABORTED", message);
      assert.ok(message.includes(path), message);
    }
    await client.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
    const { snapshot } = await cut();
    const { groupSnapshot } = await cutGroup();
    const { volume } = await copy();
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
