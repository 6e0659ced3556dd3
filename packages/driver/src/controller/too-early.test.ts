import assert from "node:assert/strict";
import { readFile, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { capability, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

/** No deadline of the caller ends these. */
const PATIENT = { timeoutMs: Number.POSITIVE_INFINITY };

for (const restarted of [false, true]) {
  const meanwhile = restarted ? ", also after a restart" : "";
  test(`a volume that is unpublished before it is unstaged stays where it is mounted, and is published there again${meanwhile}`, async () => {
    const { client, nodeID } = world;
    const { controller, node } = client;
    const choice = { fsType: "ext4" };
    const volumeCapability = capability(choice);
    const volumeId = await createVolume(world, `unpublished${restarted}`, choice);
    const { path, undo } = await stage(world, volumeId, choice);
    const file = join(path, "file");
    await writeFile(file, "first", { flush: true });
    const mounted = await stat(file);
    await controller.controllerUnpublishVolume({ volumeId, nodeId: nodeID }, PATIENT);
    await controller.controllerUnpublishVolume({ volumeId, nodeId: "" }, PATIENT);
    const { status } = await controller.controllerGetVolume({ volumeId });
    assert.deepEqual(status?.publishedNodeIds, []);
    assert.match(
      status?.volumeCondition?.message ?? "",
      /^FAILED_PRECONDITION: \/dev\/loop\d+ is in use: mounted at /,
    );
    const deletion = await failureOf(controller.deleteVolume({ volumeId }, PATIENT));
    assert.equal(deletion.code, "FAILED_PRECONDITION");
    assert.ok(deletion.message.includes(path), deletion.message);
    if (restarted) await world.restart();
    await controller.controllerPublishVolume({ volumeId, nodeId: nodeID, volumeCapability }, PATIENT);
    await node.nodeStageVolume({ volumeId, stagingTargetPath: path, volumeCapability });
    assert.equal((await stat(file)).dev, mounted.dev, "it is the mount that was there");
    assert.equal(await readFile(file, "utf8"), "first");
    await writeFile(file, "second", { flush: true });
    await undo();
    const again = await stage(world, volumeId, choice);
    assert.equal(await readFile(file, "utf8"), "second");
    await again.undo();
    await controller.deleteVolume({ volumeId });
  });
}
