import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { after, test } from "node:test";
import { cephOfFile, withCeph } from "@mooring/store/testing";
import { BlockWriter, readStints } from "./testing/block-writer.ts";
import { Stage } from "./testing/stage.ts";

const withCluster = await withCeph();
const cluster = cephOfFile(after);

test(
  "in a Ceph cluster a workload moves, grows on the way, and one that does not come over leaves the first as it was",
  withCluster,
  async (t) => {
    const ceph = await cluster();
    const stage = await Stage.open(t, { rbd: await ceph.rbdPool() });
    await stage.ask("a");
    const own = await stage.attached("a");
    const first = await BlockWriter.start("a", own);
    await first.progress(10);

    await stage.ask("b");
    await stage.ready("b");
    await first.progress(10);
    await stage.leave("b");
    assert.equal(await stage.attached("a"), own);
    assert.deepEqual(await stage.devices("b"), []);
    await first.progress(10);

    await stage.ask("b");
    const device = await stage.ready("b");
    await stage.satisfied("a");
    const waiting = await open(device, "rs+");
    await assert.rejects(waiting.write(Buffer.alloc(4096, 1), 0, 4096, 0), "the target can write");
    const size = 320 * 1024 ** 2;
    await stage.resize(size);
    await stage.volume(({ status }) => status?.size === size);
    await first.progress(10);
    await first.stop();
    await stage.leave("a");
    assert.equal(await stage.attached("b"), device);
    assert.deepEqual(await stage.devices("a"), []);
    assert.equal((await stage.host.loops.at(device))?.sizeBytes, size);
    const second = BlockWriter.on("b", waiting, first.end);
    await second.progress(20);
    await second.stop();
    assert.deepEqual(await readStints(device), [
      ["a", first.acknowledged],
      ["b", second.acknowledged],
    ]);
    await stage.leave("b");
    await stage.detached();
    assert.deepEqual(await stage.devices("b"), []);
  },
);
