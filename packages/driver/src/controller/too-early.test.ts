import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { capability, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

test("a volume that is unpublished before it is unstaged: the response says where it is mounted, without a deadline", async () => {
  const { client, nodeID } = world;
  const choice = { fsType: "ext4" };
  const volumeId = await createVolume(world, "unpublished", choice);
  const { path, undo } = await stage(world, volumeId, choice);
  // No deadline of the caller ends these.
  const patient = { timeoutMs: Number.POSITIVE_INFINITY };
  const unpublish = () => client.controller.controllerUnpublishVolume({ volumeId, nodeId: nodeID }, patient);
  const { code, message } = await failureOf(unpublish());
  assert.equal(code, "FAILED_PRECONDITION");
  assert.ok(message.includes(path), message);
  const volumeCapability = capability(choice);
  const request = { volumeId, nodeId: nodeID, volumeCapability };
  const again = await failureOf(client.controller.controllerPublishVolume(request, patient));
  assert.equal(again.code, "FAILED_PRECONDITION");
  await undo().catch(() => {});
  await unpublish();
  assert.deepEqual((await client.controller.controllerGetVolume({ volumeId })).status?.publishedNodeIds, []);
  await client.controller.deleteVolume({ volumeId });
});
