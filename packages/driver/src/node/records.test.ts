import assert from "node:assert/strict";
import { readdir, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

const BLOCK = { access: "block" } as const;

describe("what the node remembers", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  const folder = () => join(world.folder, "state", "node-volumes");
  const records = () => readdir(folder()).catch(() => []);
  const detach = (volumeId: string) =>
    world.client.controller.controllerUnpublishVolume({ volumeId, nodeId: world.nodeID });
  const remove = (volumeId: string) => world.client.controller.deleteVolume({ volumeId });
  const nothingIsRemembered = async () => {
    await eventually("nothing to be remembered", async () => (await records()).length === 0);
  };
  const publish = (volumeId: string, stagingTargetPath: string, targetPath: string) =>
    world.client.node.nodePublishVolume({
      ...{ volumeId, stagingTargetPath, targetPath, volumeCapability: capability() },
    });

  test("a volume that is deleted without being unstaged is forgotten", async () => {
    const id = await createVolume(world, "forgotten", BLOCK);
    await stage(world, id, BLOCK);
    assert.deepEqual(await records(), [`${id}.json`]);
    await detach(id);
    await remove(id);
    await nothingIsRemembered();
  });

  test("a volume that was deleted while nobody watched is forgotten at the next start", async () => {
    const id = await createVolume(world, "unseen", BLOCK);
    const { undo } = await stage(world, id, BLOCK);
    await writeFile(join(folder(), "v-00000000-0000-8000-8000-000000000000.json"), '{"published":{}}');
    await world.restart();
    await eventually("the other one to be forgotten", async () => (await records()).length <= 1);
    assert.deepEqual(await records(), [`${id}.json`], "what is still there is remembered");
    await undo();
    await remove(id);
    await nothingIsRemembered();
  });

  test("a new volume of the same name is not taken for the one that was deleted", async () => {
    const id = await createVolume(world, "again", BLOCK);
    await stage(world, id, BLOCK, "first");
    await detach(id);
    await remove(id);
    assert.equal(await createVolume(world, "again", BLOCK), id);
    const { undo } = await stage(world, id, BLOCK, "second");
    await undo();
    await remove(id);
    await nothingIsRemembered();
  });

  test("the path of a mounted volume is no place for another, which takes nothing away when it is undone", async () => {
    const [id, other] = [await createVolume(world, "owner"), await createVolume(world, "other")];
    const own = await stage(world, id);
    const { client, nodeID } = world;
    await client.controller.controllerPublishVolume({
      ...{ volumeId: other, nodeId: nodeID, volumeCapability: capability() },
    });
    const there = { volumeId: other, stagingTargetPath: own.path };
    const { code, message } = await failureOf(
      client.node.nodeStageVolume({ ...there, volumeCapability: capability() }),
    );
    assert.equal(code, "FAILED_PRECONDITION");
    assert.ok(message.includes(own.path), message);
    await client.node.nodeUnstageVolume(there);
    assert.equal((await world.host.mounts.at(own.path)).length, 1, "the owner is still mounted");
    const staged = await stage(world, other);
    const target = world.path("owner-target");
    await publish(id, own.path, target);
    assert.equal(await codeOf(publish(other, staged.path, target)), "FAILED_PRECONDITION");
    assert.match(
      await codeOf(client.node.nodeUnpublishVolume({ volumeId: other, targetPath: target })),
      /OK|FAILED_PRECONDITION/,
    );
    assert.equal((await world.host.mounts.at(target)).length, 1, "the owner is still published");
    await client.node.nodeUnpublishVolume({ volumeId: id, targetPath: target });
    await assert.rejects(stat(target), { code: "ENOENT" });
    for (const { undo } of [own, staged]) await undo();
    for (const volumeId of [id, other]) await remove(volumeId);
    await nothingIsRemembered();
  });
});
