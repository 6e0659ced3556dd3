import assert from "node:assert/strict";
import { mkdir, rm, stat, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { gone, nodeCalls } from "../testing/node-calls.ts";
import { codeOf, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

test("what is not ours is never unmounted, and what somebody wrote is never removed", async () => {
  const id = await createVolume(world, "careful");
  const { path, undo } = await stage(world, id);
  const target = world.path("careful");
  await publish(id, path, target);
  await world.host.mounts.unmount(target);
  await writeFile(join(target, "stray"), "data");
  const { code, message } = await failureOf(unpublish(id, target));
  assert.equal(code, "FAILED_PRECONDITION");
  assert.match(message, /stray/);
  await world.host.exec.run("rm", [join(target, "stray")]);
  await unpublish(id, target);
  const foreign = world.path("foreign");
  await mkdir(foreign);
  await world.host.exec.run("mount", ["-t", "tmpfs", "tmpfs", foreign]);
  assert.equal(await codeOf(unpublish(id, foreign)), "FAILED_PRECONDITION");
  assert.equal((await world.host.mounts.at(foreign)).length, 1);
  await world.host.mounts.unmount(foreign);
  await undo();
  await remove(id);
});

test("mounts are undone by what mountinfo shows, also when the records of this node are lost", async () => {
  const block = { access: "block", mode: "SINGLE_NODE_MULTI_WRITER" } as const;
  const [id, raw] = [await createVolume(world, "lost"), await createVolume(world, "lost block", block)];
  const [mounted, device] = [await stage(world, id), await stage(world, raw, block)];
  const [target, node] = [world.path("lost"), world.path("lost-block")];
  await publish(id, mounted.path, target);
  await publish(raw, device.path, node, { more: {}, choice: block });
  await rm(join(world.folder, "state", "node-volumes"), { recursive: true });
  for (const [volumeId, path] of [
    [id, target],
    [raw, node],
  ] as const) {
    await unpublish(volumeId, path);
    assert.equal(await gone(path), true);
  }
  for (const { undo } of [mounted, device]) await undo();
  for (const volumeId of [id, raw]) await remove(volumeId);
});

test("a target that something wrote beneath is not writable for anybody but root", async () => {
  const id = await createVolume(world, "mode");
  const { path, undo } = await stage(world, id);
  const target = world.path("mode");
  await publish(id, path, target);
  await world.host.mounts.unmount(target);
  assert.equal((await stat(target)).mode & 0o777, 0);
  await unpublish(id, target);
  await undo();
  await remove(id);
});
