import assert from "node:assert/strict";
import { readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, before, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { gone, nodeCalls } from "../testing/node-calls.ts";
import {
  capability,
  codeOf,
  createVolume,
  failureOf,
  stage,
  startWorld,
  type World,
} from "../testing/world.ts";

const WRITERS = { mode: "SINGLE_NODE_MULTI_WRITER" } as const;

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());
const { publish, unpublish, remove } = nodeCalls(() => world);

test("second publish of a file system, several targets allowed: every cell", async () => {
  covers("CSI-273", "CSI-274", "CSI-275", "CSI-276");
  const id = await createVolume(world, "many", WRITERS);
  const { path, undo } = await stage(world, id, WRITERS);
  const [t1, t2, t3] = [world.path("many-1"), world.path("many-2"), world.path("many-3")];
  await publish(id, path, t1, { more: {}, choice: WRITERS });
  assert.equal(await codeOf(publish(id, path, t1, { more: {}, choice: WRITERS })), "OK");
  assert.equal(
    await codeOf(publish(id, path, t1, { more: { readonly: true }, choice: WRITERS })),
    "ALREADY_EXISTS",
  );
  assert.equal(await codeOf(publish(id, path, t2, { more: {}, choice: WRITERS })), "OK");
  assert.equal(await codeOf(publish(id, path, t3, { more: { readonly: true }, choice: WRITERS })), "OK");
  await writeFile(join(t1, "seen"), "by all");
  assert.equal(await readFile(join(t3, "seen"), "utf8"), "by all");
  await assert.rejects(writeFile(join(t3, "seen"), "no"), { code: "EROFS" });
  const still = await failureOf(
    world.client.node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path }),
  );
  assert.equal(still.code, "FAILED_PRECONDITION");
  for (const target of [t1, t2, t3]) await unpublish(id, target);
  await undo();
  await remove(id);
});

for (const mode of ["SINGLE_NODE_WRITER", "SINGLE_NODE_SINGLE_WRITER", "SINGLE_NODE_READER_ONLY"] as const) {
  test(`second publish, ${mode}: every cell`, async () => {
    covers("CSI-088", "CSI-270", "CSI-277", "CSI-278", "CSI-279", "CSI-280", "CSI-281", "CSI-290");
    const choice = { mode };
    const id = await createVolume(world, `single ${mode}`, choice);
    const { path, undo } = await stage(world, id, choice);
    const [t1, t2] = [world.path(`${mode}-1`), world.path(`${mode}-2`)];
    await publish(id, path, t1, { more: { secrets: { key: "one" } }, choice });
    assert.equal(await codeOf(publish(id, path, t1, { more: { secrets: { key: "two" } }, choice })), "OK");
    assert.equal(await codeOf(publish(id, path, t1, { more: { readonly: true }, choice })), "ALREADY_EXISTS");
    assert.equal(await codeOf(publish(id, path, t2, { more: {}, choice })), "FAILED_PRECONDITION");
    assert.equal(
      await codeOf(publish(id, path, t2, { more: { readonly: true }, choice })),
      "FAILED_PRECONDITION",
    );
    assert.equal(await gone(t2), true);
    const write = writeFile(join(t1, "file"), "x");
    if (mode === "SINGLE_NODE_READER_ONLY") await assert.rejects(write, { code: "EROFS" });
    else await write;
    await unpublish(id, t1);
    await undo();
    await remove(id);
  });
}

test("publish and unpublish: rows of their error tables", async () => {
  covers("CSI-268", "CSI-287", "CSI-288", "CSI-291", "CSI-292", "CSI-295");
  const id = await createVolume(world, "rows");
  const { path, undo } = await stage(world, id);
  const target = world.path("rows");
  assert.equal(await codeOf(publish("v-unknown", path, target)), "NOT_FOUND");
  assert.equal(await codeOf(publish(id, "", target)), "FAILED_PRECONDITION");
  assert.equal(await codeOf(publish(id, world.path("elsewhere"), target)), "FAILED_PRECONDITION");
  assert.equal(
    await codeOf(publish(id, path, target, { more: {}, choice: { access: "block" } })),
    "INVALID_ARGUMENT",
  );
  assert.equal(await codeOf(publish(id, path, world.path("no/parent"))), "FAILED_PRECONDITION");
  assert.equal(await codeOf(unpublish("v-unknown", target)), "NOT_FOUND");
  assert.equal(await codeOf(unpublish(id, target)), "OK");
  await undo();
  await remove(id);
});

test("a read-only publication by the controller is read-only on the node", async () => {
  covers("CSI-089");
  const { controller, node } = world.client;
  const id = await createVolume(world, "read-only");
  await (await stage(world, id)).undo();
  const volumeCapability = capability();
  const { publishContext } = await controller.controllerPublishVolume({
    ...{ volumeId: id, nodeId: world.nodeID, volumeCapability, readonly: true },
  });
  const [path, target] = [world.path("ro-staging"), world.path("ro-target")];
  await node.nodeStageVolume({ volumeId: id, stagingTargetPath: path, volumeCapability, publishContext });
  await publish(id, path, target, { more: { publishContext } });
  await assert.rejects(writeFile(join(target, "file"), "x"), { code: "EROFS" });
  await unpublish(id, target);
  await node.nodeUnstageVolume({ volumeId: id, stagingTargetPath: path });
  assert.equal(await gone(path), true);
  await controller.controllerUnpublishVolume({ volumeId: id, nodeId: world.nodeID });
  await remove(id);
});
