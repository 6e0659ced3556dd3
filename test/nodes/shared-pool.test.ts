import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { NodeAgents, Volumes } from "@mooring/engine";
import { eventually, everyday, howMany, thorough } from "@mooring/store/testing";
import { devicesBelow } from "./support/devices.ts";
import { pairOfNodes } from "./support/pair.ts";
import { TestVolume } from "./support/volume.ts";
import type { Nodes } from "./support/world.ts";
import { stints, Writer } from "./support/writer.ts";

/** `npm run test:deep` does the hard ones again and again. */
const ROUNDS = howMany({ everyday: 1, deep: 5 });

describe("a pool that two nodes share", () => {
  let nodes: Nodes;
  before(async () => {
    nodes = await pairOfNodes();
  });

  const content = (machine: string, volume: TestVolume) =>
    nodes.machine(machine).run("cat", `${volume.path(machine)}/log`);
  const state = async (name: string) => {
    const store = await nodes.store();
    return (await store.get(NodeAgents, { name })).status?.state;
  };
  const isState = (name: string, wanted: string) =>
    eventually(`node ${name} to be ${wanted}`, async () => (await state(name)) === wanted);

  test(
    "a volume moves from one node to the other, with everything that was written",
    thorough(),
    async () => {
      const volume = await TestVolume.create(nodes, "moves", "common");
      const first = new Writer(nodes.machine("a"), `${await volume.publish("a")}/log`);
      await first.progress(50);
      await first.stop();
      await volume.unpublish("a");
      await volume.publish("b");
      const found = stints(await content("b", volume));
      assert.equal(found.length, 1);
      assert.ok((found[0]?.last ?? 0) >= first.acknowledged);
      await volume.unpublish("b");
      await volume.remove();
      const store = await nodes.store();
      assert.deepEqual((await store.list(Volumes)).items, []);
      assert.deepEqual(await devicesBelow(nodes.machine("a").stateDir), []);
    },
  );

  for (let round = 1; round <= ROUNDS; round += 1) hardEnds(round);

  function hardEnds(round: number): void {
    test(
      `a node that loses its network loses the volume: its writer is stopped before another one begins (${round})`,
      everyday(),
      async () => {
        const a = nodes.machine("a");
        const volume = await TestVolume.create(nodes, `partition-${round}`, "common");
        const first = new Writer(a, `${await volume.publish("a")}/log`);
        await first.progress(50);
        await a.seat.link("down");
        await first.ended;
        assert.match(first.complaint, /write|sync/);
        assert.notEqual(await state("a"), "Fenced");
        await isState("a", "Fenced");
        // What Kubernetes does with a pod that is gone from a node.
        await volume.detach("a");
        const second = new Writer(nodes.machine("b"), `${await volume.publish("b")}/log`);
        await second.progress(50);
        await a.seat.link("up");
        await isState("a", "Ready");
        await volume.unmount("a");
        await second.progress(50);
        await second.stop();
        const [left, right, ...more] = stints(await content("b", volume));
        assert.deepEqual([left?.node, right?.node, more], ["a", "b", []]);
        assert.ok((left?.last ?? 0) >= first.acknowledged, `${left?.last} of ${first.acknowledged}`);
        assert.ok((right?.last ?? 0) >= second.acknowledged);
        await volume.unpublish("b");
        await volume.remove();
      },
    );

    test(
      `an agent that is killed leaves no writer behind: the guard disconnects its device (${round})`,
      thorough(),
      async () => {
        const a = nodes.machine("a");
        const volume = await TestVolume.create(nodes, `killed-${round}`, "common");
        const first = new Writer(a, `${await volume.publish("a")}/log`);
        await first.progress(50);
        process.kill(a.pid, "SIGKILL");
        // It goes on without its agent, for as long as the lease may still be its own.
        await first.progress(10);
        await first.ended;
        assert.match(first.complaint, /write|sync/);
        await a.losePower();
        await isState("a", "Fenced");
        await volume.detach("a");
        await volume.publish("b");
        const [left, ...more] = stints(await content("b", volume));
        assert.deepEqual([left?.node, more], ["a", []]);
        assert.ok((left?.last ?? 0) >= first.acknowledged, `${left?.last} of ${first.acknowledged}`);
        await a.start();
        await isState("a", "Ready");
        await volume.unpublish("b");
        await volume.remove();
      },
    );

    test(
      `an agent and its guard are killed: what their writer still writes harms nobody, and it is stopped when the agent is back (${round})`,
      thorough(),
      async () => {
        const a = nodes.machine("a");
        const volume = await TestVolume.create(nodes, `unguarded-${round}`, "common");
        const first = new Writer(a, `${await volume.publish("a")}/log`);
        await first.progress(50);
        const keeper = await a.killAgent();
        await a.killWith(`${a.stateDir}/`);
        const promised = first.acknowledged;
        await isState("a", "Fenced");
        await volume.detach("a");
        const second = new Writer(nodes.machine("b"), `${await volume.publish("b")}/log`);
        await second.progress(50);
        // Nothing on its machine could stop it. It has a file without a name for itself.
        await first.progress(10);
        await a.start({ inside: keeper });
        await first.ended;
        assert.match(first.complaint, /write|sync/);
        await second.progress(50);
        await second.stop();
        await volume.unmount("a");
        await eventually("the old device to be gone", async () => {
          return (await devicesBelow(a.stateDir)).length === 0;
        });
        await volume.unpublish("b");
        await volume.publish("a");
        const [left, right, ...more] = stints(await content("a", volume));
        assert.deepEqual([left?.node, right?.node, more], ["a", "b", []]);
        assert.ok((left?.last ?? 0) >= promised, `${left?.last} of ${promised}`);
        assert.ok((right?.last ?? 0) >= second.acknowledged);
        await volume.unpublish("a");
        await volume.remove();
      },
    );

    test(
      `a node that dies is fenced by an operator's taint, and what it was promised is there on the other (${round})`,
      thorough(),
      async () => {
        const a = nodes.machine("a");
        const volume = await TestVolume.create(nodes, `death-${round}`, "common");
        const first = new Writer(a, `${await volume.publish("a")}/log`);
        await first.progress(50);
        await a.losePower();
        await nodes.kubectl.run(
          "taint",
          "node",
          "a",
          "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute",
        );
        await isState("a", "Fenced");
        await volume.detach("a");
        const second = new Writer(nodes.machine("b"), `${await volume.publish("b")}/log`);
        await second.progress(50);
        await second.stop();
        const [left, right, ...more] = stints(await content("b", volume));
        assert.deepEqual([left?.node, right?.node, more], ["a", "b", []]);
        assert.ok((left?.last ?? 0) >= first.acknowledged);
        await nodes.kubectl.run("taint", "node", "a", "node.kubernetes.io/out-of-service-");
        await a.start();
        await isState("a", "Ready");
        await volume.unpublish("b");
        await volume.remove();
      },
    );
  }
});
