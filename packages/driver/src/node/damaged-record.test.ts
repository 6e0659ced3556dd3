import assert from "node:assert/strict";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { eventually } from "@mooring/store/testing";
import { nodeCalls } from "../testing/node-calls.ts";
import { codeOf, createVolume, failureOf, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

const folder = () => join(world.folder, "state", "node-volumes");
const fileOf = (id: string) => join(folder(), `${id}.json`);
const recordsOf = async (id: string) => (await readdir(folder())).filter((name) => name.includes(id));

for (const [name, text] of [
  ["torn", "{"],
  ["empty", ""],
  ["of zeros", "\0".repeat(64)],
  ["of another shape", "[]"],
] as const) {
  test(`a ${name} record of a volume that is mounted nowhere begins anew`, async () => {
    const id = await createVolume(world, `unused-${name.replaceAll(" ", "-")}`);
    const first = await stage(world, id);
    await first.undo();
    await writeFile(fileOf(id), text);
    const { undo } = await stage(world, id);
    assert.ok((JSON.parse(await readFile(fileOf(id), "utf8")) as { staged?: object }).staged);
    await undo();
    await remove(id);
  });
}

test("mounts whose record is torn are undone, and until then a new one is refused with the file", async () => {
  const id = await createVolume(world, "mounted");
  const { path, undo } = await stage(world, id);
  const target = world.path("mounted");
  await publish(id, path, target);
  await writeFile(fileOf(id), "{");
  for (const call of [() => publish(id, path, world.path("second")), () => stage(world, id)]) {
    const { code, message } = await failureOf(call());
    assert.equal(code, "FAILED_PRECONDITION");
    assert.ok(message.includes(fileOf(id)), message);
  }
  await unpublish(id, target);
  await undo();
  assert.equal((await world.host.mounts.at(path)).length, 0);
  assert.deepEqual(await recordsOf(id), []);
  const again = await stage(world, id);
  await again.undo();
  await remove(id);
});

test("a block volume whose record is torn is undone", async () => {
  const block = { access: "block" } as const;
  const id = await createVolume(world, "raw", block);
  const { path, undo } = await stage(world, id, block);
  const target = world.path("raw");
  await publish(id, path, target, { choice: block });
  await writeFile(fileOf(id), "{");
  assert.equal(await codeOf(unpublish(id, target)), "OK");
  await undo();
  assert.deepEqual(await recordsOf(id), []);
  await remove(id);
});

test("a torn record goes with its volume", async () => {
  const id = await createVolume(world, "gone");
  const { undo } = await stage(world, id);
  await undo();
  await writeFile(fileOf(id), "{");
  await remove(id);
  await eventually("it to be forgotten", async () => (await recordsOf(id)).length === 0);
});
