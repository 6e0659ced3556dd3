import assert from "node:assert/strict";
import { readFile, rm, stat, writeFile } from "node:fs/promises";
import { basename, join } from "node:path";
import { after, before, test } from "node:test";
import { eventually, everyday, sample } from "@mooring/store/testing";
import { codeOf, createVolume, MIB, stage, startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

for (const fsType of sample(["ext4", "xfs", "btrfs"], { everyday: 1 })) {
  test(`discard on ${fsType}: what is deleted goes back to the pool, from the next mount on at the latest`, async () => {
    const { client, host } = world;
    const volumeId = await createVolume(world, `discard-${fsType}`, { fsType });
    const first = await stage(world, volumeId, { fsType });
    const image = async () => {
      const loop = await world.loopOf(volumeId);
      return (await stat(loop?.backingFile ?? "")).blocks * 512;
    };
    const modify = (discard: string) =>
      client.controller.controllerModifyVolume({ volumeId, mutableParameters: { discard } });
    assert.equal(await codeOf(modify("perhaps")), "INVALID_ARGUMENT");
    await modify("true");
    const { discards, again } = await (async () => {
      const [mount] = await host.mounts.at(first.path);
      if (fsType !== "xfs") return { discards: mount?.superOptions.join() ?? "", again: first };
      await first.undo();
      const second = await stage(world, volumeId, { fsType });
      return { discards: (await host.mounts.at(second.path))[0]?.superOptions.join() ?? "", again: second };
    })();
    assert.match(discards, /(^|,)discard/);
    const before = await image();
    await writeFile(join(again.path, "large"), Buffer.alloc(Number(32n * MIB), 1), { flush: true });
    assert.ok((await image()) >= before + Number(30n * MIB));
    await rm(join(again.path, "large"));
    // They come back some time after the file system has released them.
    await eventually("the blocks to be given back", async () => {
      await host.exec.run("sync", ["--file-system", again.path]);
      return (await image()) < before + Number(16n * MIB);
    });
    await modify("false");
    await again.undo();
    const last = await stage(world, volumeId, { fsType });
    assert.doesNotMatch((await host.mounts.at(last.path))[0]?.superOptions.join() ?? "", /(^|,)discard/);
    await last.undo();
    await client.controller.deleteVolume({ volumeId });
  });
}

test("mutable parameters: all or none, at once and again after the next stage", everyday(), async () => {
  const { controller } = world.client;
  const id = await createVolume(world, "mutable");
  const first = await stage(world, id);
  const readAhead = async () => {
    const loop = await world.loopOf(id);
    return (await readFile(`/sys/block/${basename(loop?.path ?? "")}/queue/read_ahead_kb`, "utf8")).trim();
  };
  const modify = (mutableParameters: Record<string, string>, volumeId = id) =>
    controller.controllerModifyVolume({ volumeId, mutableParameters });
  await modify({ readAheadKiB: "4096" });
  assert.equal(await readAhead(), "4096");
  assert.equal(await codeOf(modify({ readAheadKiB: "64", colour: "red" })), "INVALID_ARGUMENT");
  assert.equal(await codeOf(modify({ readAheadKiB: "64" }, "v-unknown")), "NOT_FOUND");
  assert.equal(await readAhead(), "4096");
  await first.undo();
  await modify({ readAheadKiB: "512" });
  const second = await stage(world, id);
  assert.equal(await readAhead(), "512");
  await second.undo();
  await controller.deleteVolume({ volumeId: id });
});
