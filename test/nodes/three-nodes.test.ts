import assert from "node:assert/strict";
import { after, before, describe, test } from "node:test";
import { NodeAgents, Volumes } from "@mooring/engine";
import { eventually, thorough } from "@mooring/store/testing";
import { devicesBelow } from "./support/devices.ts";
import { TestVolume } from "./support/volume.ts";
import { Nodes } from "./support/world.ts";
import { stints, Writer } from "./support/writer.ts";

const NAMES = ["a", "b", "c"] as const;
type Name = (typeof NAMES)[number];

describe("three nodes that share a pool", () => {
  let nodes: Nodes;
  after(() => nodes?.dispose());
  before(async () => {
    nodes = await Nodes.sharing(NAMES);
  });

  async function write(volume: TestVolume, name: Name): Promise<Writer> {
    const writer = new Writer(nodes.machine(name), `${await volume.publish(name)}/log`);
    await writer.progress(30);
    return writer;
  }

  async function release(volume: TestVolume, name: Name): Promise<void> {
    await volume.unpublish(name);
  }

  const isState = (name: Name, wanted: string) =>
    eventually(`node ${name} to be ${wanted}`, async () => {
      const store = await nodes.store();
      return (await store.get(NodeAgents, { name })).status?.state === wanted;
    });

  /** The checker: one after the other, in this order, without a hole, with all that was promised, and never two at once. */
  async function check(volume: TestVolume, at: Name, writers: readonly Writer[]): Promise<void> {
    const content = await nodes.machine(at).run("cat", `${volume.path(at)}/log`);
    const found = stints(content);
    assert.deepEqual(
      found.map(({ node }) => node),
      writers.map(({ node }) => node),
    );
    for (const [index, writer] of writers.entries()) {
      const last = found[index]?.last ?? 0;
      assert.ok(last >= writer.acknowledged, `${writer.node}: ${last} of ${writer.acknowledged}`);
      const next = writers[index + 1];
      if (next !== undefined)
        assert.ok(writer.lastAt < next.firstAt, `${writer.node} and ${next.node} wrote at once`);
    }
  }

  test("a volume goes round: from each node to the next, and back to the first", thorough(), async () => {
    const volume = await TestVolume.create(nodes, "round", "common");
    const writers: Writer[] = [];
    for (const name of NAMES) {
      const writer = await write(volume, name);
      await writer.stop();
      writers.push(writer);
      await release(volume, name);
    }
    await volume.publish("a");
    await check(volume, "a", writers);
    await release(volume, "a");
    await volume.remove();
    const store = await nodes.store();
    assert.deepEqual((await store.list(Volumes)).items, []);
    for (const name of NAMES) assert.deepEqual(await devicesBelow(nodes.machine(name).stateDir), []);
  });

  test(
    "one is cut off: its volume waits for the fence and goes to another; the third notices nothing",
    thorough(),
    async () => {
      const [moving, still] = [
        await TestVolume.create(nodes, "cut-off", "common"),
        await TestVolume.create(nodes, "still", "common"),
      ];
      const bystander = await write(still, "c");
      const first = await write(moving, "a");
      await nodes.machine("a").seat.link("down");
      // No node gets it before, whichever asks.
      await assert.rejects(moving.publish("b"), /is published to node "a"/);
      await first.ended;
      assert.match(first.complaint, /write|sync/);
      await isState("a", "Fenced");
      await moving.detach("a");
      const second = await write(moving, "b");
      await bystander.progress(30);
      assert.ok(bystander.running, bystander.complaint);
      await nodes.machine("a").seat.link("up");
      await isState("a", "Ready");
      await moving.unmount("a");
      await second.progress(30);
      await second.stop();
      await release(moving, "b");
      const third = await write(moving, "a");
      await third.stop();
      await check(moving, "a", [first, second, third]);
      await release(moving, "a");
      await bystander.stop();
      await check(still, "c", [bystander]);
      await release(still, "c");
      for (const volume of [moving, still]) await volume.remove();
    },
  );

  test(
    "one dies with the volume, and both others want it: one of them gets it, the other one after it",
    thorough(),
    async () => {
      const volume = await TestVolume.create(nodes, "wanted", "common");
      const first = await write(volume, "a");
      await nodes.machine("a").losePower();
      await isState("a", "Fenced");
      await volume.detach("a");
      const asked = await Promise.allSettled((["b", "c"] as const).map((name) => volume.publish(name)));
      const won = asked.map(({ status }) => status === "fulfilled");
      assert.deepEqual([...won].sort(), [false, true], JSON.stringify(asked));
      const [winner, loser] = won[0] === true ? (["b", "c"] as const) : (["c", "b"] as const);
      const second = new Writer(nodes.machine(winner), `${volume.path(winner)}/log`);
      await second.progress(30);
      await second.stop();
      await release(volume, winner);
      const third = await write(volume, loser);
      await third.stop();
      await check(volume, loser, [first, second, third]);
      await release(volume, loser);
      await volume.remove();
      await nodes.machine("a").start();
      await isState("a", "Ready");
    },
  );

  test("two are cut off at once: the volumes of both go to the one that is left", thorough(), async () => {
    const lost = ["a", "b"] as const;
    const volumes = new Map<Name, TestVolume>();
    const first = new Map<Name, Writer>();
    for (const name of lost) {
      const volume = await TestVolume.create(nodes, `both-${name}`, "common");
      volumes.set(name, volume);
      first.set(name, await write(volume, name));
    }
    for (const name of lost) await nodes.machine(name).seat.link("down");
    for (const name of lost) {
      await first.get(name)?.ended;
      await isState(name, "Fenced");
      const volume = volumes.get(name);
      const before = first.get(name);
      if (volume === undefined || before === undefined) throw new Error(`no volume of ${name}`);
      await volume.detach(name);
      const writer = await write(volume, "c");
      await writer.stop();
      await check(volume, "c", [before, writer]);
      await release(volume, "c");
    }
    for (const name of lost) {
      await nodes.machine(name).seat.link("up");
      await isState(name, "Ready");
      await volumes.get(name)?.unmount(name);
      await volumes.get(name)?.remove();
    }
  });
});
