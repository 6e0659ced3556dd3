import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { test } from "node:test";
import { Events, Leases } from "@mooring/store";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { LEASE_NAMESPACE } from "../../api/names.ts";
import { TAKEN_FROM } from "../../leases/decide.ts";
import { attachmentAt } from "../../testing/attachment-at.ts";
import { BlockWriter, readStints } from "./testing/block-writer.ts";
import { Stage } from "./testing/stage.ts";

test(
  "a workload moves: both nodes have a device, one of them works, and nothing acknowledged is lost",
  everyday(),
  async (t) => {
    covers("LHA-061");
    const stage = await Stage.open(t);
    await stage.ask("a");
    const first = await BlockWriter.start("a", await stage.attached("a"));
    await first.progress(20);
    await stage.ask("b");
    const device = await stage.ready("b");
    await stage.satisfied("a");
    await first.progress(20);

    // A virtual machine that waits to take over has the device open already.
    const waiting = await open(device, "rs+");
    await assert.rejects(waiting.write(Buffer.alloc(4096, 1), 0, 4096, 0), "the target can write");
    const read = waiting.read(Buffer.alloc(4096), 0, 4096, 0);
    await assert.rejects(read, "the target can read what the source is still changing");

    await first.progress(20);
    await first.stop();
    await stage.leave("a");
    assert.equal(
      await stage.attached("b"),
      device,
      "the device that was handed out is not the one that works",
    );
    assert.deepEqual(await stage.devices("a"), []);
    const second = BlockWriter.on("b", waiting, first.end);
    await second.progress(20);
    await second.stop();
    assert.deepEqual(await readStints(device), [
      ["a", first.acknowledged],
      ["b", second.acknowledged],
    ]);

    const [lease] = (await stage.store.list(Leases, { namespace: LEASE_NAMESPACE })).items;
    assert.match(lease?.spec?.holderIdentity ?? "", /^b_/);
    assert.equal(lease?.metadata.annotations?.[TAKEN_FROM], undefined, "it was taken, not handed over");
    await stage.leave("b");
    await stage.detached();
    assert.deepEqual(await stage.devices("b"), []);
    for (const wanted of ["MigrationStarted", "MigrationConfirmed"])
      await eventually(`the event ${wanted}`, async () =>
        (await stage.store.list(Events)).items.some(({ reason }) => reason === wanted),
      );
  },
);

test(
  "a workload that does not come over leaves the first one as it was, also again and again",
  everyday(),
  async (t) => {
    covers("LHA-061");
    const stage = await Stage.open(t);
    await stage.ask("a");
    const device = await stage.attached("a");
    const writer = await BlockWriter.start("a", device);
    for (let round = 0; round < 3; round += 1) {
      await stage.ask("b");
      await stage.ready("b");
      await writer.progress(10);
      await stage.leave("b");
      assert.equal(await stage.attached("a"), device);
      await writer.progress(10);
      // Whoever lists the loop devices of the machine has each open for a moment.
      await eventually(
        "the target's device to be gone",
        async () => (await stage.devices("b")).length === 0,
        {
          lastSeen: () => stage.devices("b"),
        },
      );
    }
    await writer.stop();
    assert.deepEqual(await readStints(device), [["a", writer.acknowledged]]);
    await stage.leave("a");
    await stage.detached();
  },
);

test(
  "both workloads leave in the middle: the volume is detached from both nodes, and can be attached again",
  thorough(),
  async (t) => {
    covers("LHA-061");
    const stage = await Stage.open(t);
    await stage.ask("a");
    await stage.attached("a");
    await stage.ask("b");
    await stage.ready("b");
    await Promise.all([stage.leave("a"), stage.leave("b")]);
    await stage.detached();
    assert.deepEqual([...(await stage.devices("a")), ...(await stage.devices("b"))], []);
    await stage.ask("b");
    await stage.attached("b");
    await stage.leave("b");
    await stage.detached();
  },
);

test("a volume that has grown in the middle has its new size on the target", thorough(), async (t) => {
  const stage = await Stage.open(t);
  await stage.ask("a");
  await stage.attached("a");
  await stage.ask("b");
  await stage.ready("b");
  const size = 320 * 1024 ** 2;
  await stage.resize(size);
  await stage.volume(({ status }) => status?.size === size);
  await stage.leave("a");
  const device = await stage.attached("b");
  assert.equal((await stage.host.loops.at(device))?.sizeBytes, size);
  await stage.leave("b");
  await stage.detached();
});

test("a target whose device goes before anybody uses it opens another one", everyday(), async (t) => {
  const stage = await Stage.open(t);
  await stage.ask("a");
  const writer = await BlockWriter.start("a", await stage.attached("a"));
  await writer.progress(10);
  await stage.ask("b");
  const device = await stage.ready("b");
  await stage.host.loops.detach(await attachmentAt(stage.host, device));
  await stage.volume(({ status }) => status?.remountRequestedAt !== undefined);
  await stage.ready("b");
  await writer.stop();
  await stage.leave("a");
  assert.deepEqual(await readStints(await stage.attached("b")), [["a", writer.acknowledged]]);
  await stage.leave("b");
  await stage.detached();
});

test(
  "a target that restarts between its device and the hand-over opens another one, and says so",
  thorough(),
  async (t) => {
    const stage = await Stage.open(t);
    await stage.ask("a");
    const writer = await BlockWriter.start("a", await stage.attached("a"));
    await writer.progress(10);
    await stage.ask("b");
    const device = await stage.ready("b");
    await stage.stopNode("b");
    await stage.host.loops.detach(await attachmentAt(stage.host, device));
    await writer.stop();
    await stage.leave("a");
    await stage.volume(({ spec }) => spec.nodeID === "b");
    await stage.startNode("b");
    const opened = await stage.attached("b");
    assert.deepEqual(await readStints(opened), [["a", writer.acknowledged]]);
    const { status } = await stage.volume(() => true);
    assert.equal(status?.remountRequestedAt !== undefined, opened !== device);
    await stage.leave("b");
    await stage.detached();
  },
);
