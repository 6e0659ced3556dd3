import assert from "node:assert/strict";
import { type TestContext, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import {
  type CapabilityInit,
  capability,
  createVolume,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

const ASKED = /^what was mounted before 20[0-9T:.-]+Z is dead or moved: start the pods that use it again$/;

/** What is recorded as published, and mounted no more, as after a power loss. */
async function publishedBefore(
  world: World,
  request: { volumeId: string; stagingTargetPath: string; volumeCapability: CapabilityInit },
): Promise<string> {
  const targetPath = world.path("target");
  await world.client.node.nodePublishVolume({ ...request, targetPath });
  await world.host.mounts.unmount(targetPath);
  return targetPath;
}

async function asksUntilMounted(t: TestContext, { isRecorded }: { isRecorded: boolean }): Promise<void> {
  const world = await startWorld();
  t.after(() => world.end());
  const { controller, node } = world.client;
  const choice = { fsType: "xfs" };
  const volumeId = await createVolume(world, "v", choice);
  const condition = async (): Promise<string> => {
    const { status } = await controller.controllerGetVolume({ volumeId });
    return status?.volumeCondition?.abnormal === true ? status.volumeCondition.message : "";
  };
  const staged = await stage(world, volumeId, choice);
  const again = { volumeId, stagingTargetPath: staged.path, volumeCapability: capability(choice) };
  assert.equal(await condition(), "");
  const targetPath = isRecorded ? await publishedBefore(world, again) : undefined;
  await world.host.exec.run("xfs_io", ["-x", "-c", "shutdown -f", staged.path]);
  const FAULT = "DATA_LOSS: the xfs file system";
  await eventually("the fault", async () => (await condition()).startsWith(FAULT));
  // That its device cannot be closed before it is unmounted comes of the fault, and does not hide it.
  await eventually("the refusal to detach", async () => world.log().includes("FAILED_PRECONDITION"));
  assert.ok((await condition()).startsWith(FAULT), await condition());
  await node.nodeUnstageVolume({ volumeId, stagingTargetPath: staged.path });
  await eventually("the request after the repair", async () => ASKED.test(await condition()));
  await eventually("a new mount", () =>
    node.nodeStageVolume(again).then(
      () => true,
      () => false,
    ),
  );
  await eventually("the end of the request", async () => (await condition()) === "");
  if (targetPath !== undefined) await node.nodeUnpublishVolume({ volumeId, targetPath });
  await staged.undo();
  await controller.deleteVolume({ volumeId });
}

test("a volume that was repaired asks for new mounts until its node has made one, under the same publication", (t) =>
  asksUntilMounted(t, { isRecorded: false }));

test("a publication that is only recorded, and mounted no more, keeps no volume asking for a new mount", (t) =>
  asksUntilMounted(t, { isRecorded: true }));
