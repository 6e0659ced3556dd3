import assert from "node:assert/strict";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { capability, createVolume, stage, startWorld } from "../testing/world.ts";

const ASKED = /^what was mounted before 20[0-9T:.-]+Z is dead or moved: start the pods that use it again$/;

test("a volume that was repaired asks for new mounts until its node has made one, under the same publication", async (t) => {
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
  await staged.undo();
  await controller.deleteVolume({ volumeId });
});
