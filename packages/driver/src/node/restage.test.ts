import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { capability, codeOf, createVolume, failureOf, stage, startWorld } from "../testing/world.ts";

test("a volume whose file system has failed is repaired and mounted anew when its next user comes before the last has gone", async (t) => {
  const world = await startWorld();
  t.after(() => world.end());
  const { controller, node } = world.client;
  const choice = { fsType: "xfs" };
  const volumeId = await createVolume(world, "v", choice);
  const staged = await stage(world, volumeId, choice);
  const [first, next] = [world.path("first"), world.path("next")];
  const volumeCapability = capability(choice);
  const publish = (targetPath: string) =>
    node.nodePublishVolume({ volumeId, stagingTargetPath: staged.path, targetPath, volumeCapability });
  await publish(first);
  await writeFile(join(first, "file"), "kept", { flush: true });
  await world.host.exec.run("xfs_io", ["-x", "-c", "shutdown -f", staged.path]);
  await eventually("the fault", async () => {
    const { status } = await controller.controllerGetVolume({ volumeId });
    return status?.volumeCondition?.message.startsWith("DATA_LOSS") === true;
  });
  // The last user still has it: nothing is taken away below it.
  assert.notEqual(await codeOf(publish(next)), "OK");
  assert.equal((await world.host.mounts.at(staged.path)).length, 1);
  await node.nodeUnpublishVolume({ volumeId, targetPath: first });
  const refusal = await failureOf(publish(next));
  assert.equal(refusal.code, "UNAVAILABLE");
  assert.match(refusal.message, /has failed and is repaired first/);
  // No call but the one that a kubelet repeats, also after a restart.
  await world.restart();
  await eventually("the next user to have it", async () => (await codeOf(publish(next))) === "OK", {
    lastSeen: () => failureOf(publish(next)),
  });
  assert.equal(await readFile(join(next, "file"), "utf8"), "kept");
  await writeFile(join(next, "file"), "goes on", { flush: true });
  await node.nodeUnpublishVolume({ volumeId, targetPath: next });

  // What somebody else has unmounted is their matter, as before.
  await world.host.exec.run("umount", [staged.path]);
  assert.equal(await codeOf(publish(next)), "FAILED_PRECONDITION");
  await staged.undo();
  await controller.deleteVolume({ volumeId });
});
