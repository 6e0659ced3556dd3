import assert from "node:assert/strict";
import { before, describe, test } from "node:test";
import { Volumes } from "@mooring/engine";
import { covers, eventually, everyday, thorough } from "@mooring/store/testing";
import { mooring } from "../support/mooring.ts";
import { devicesBelow } from "./support/devices.ts";
import { pairOfNodes } from "./support/pair.ts";
import { TestVolume } from "./support/volume.ts";
import type { Nodes } from "./support/world.ts";
import { readRecords, stints, Writer } from "./support/writer.ts";

describe("a migratable volume of a shared pool", () => {
  covers("LHA-061", "LHA-074");
  let nodes: Nodes;
  before(async () => {
    nodes = await pairOfNodes();
  });

  const status = async (volume: TestVolume) =>
    (await (await nodes.store()).get(Volumes, { name: volume.id })).status;

  /** An operator taints as off the machine, which has lost its power. */
  const isOff = (name: string) =>
    nodes.kubectl.run("taint", "node", name, "node.kubernetes.io/out-of-service=nodeshutdown:NoExecute");
  const isOn = async (name: string) => {
    await nodes.kubectl.run("taint", "node", name, "node.kubernetes.io/out-of-service-");
    await nodes.machine(name).start();
  };

  /** A new volume, and a workload on its device on node a. */
  const written = async (name: string) => {
    const volume = await TestVolume.create(nodes, name, "common", "migratable");
    const writer = new Writer(nodes.machine("a"), await volume.publish("a"), "device");
    await writer.progress(50);
    return { volume, writer };
  };

  /** As this node sees the volume: these have written one after the other, and nothing acknowledged is lost. */
  const seen = async (volume: TestVolume, node: string, ...writers: Writer[]) => {
    const found = stints(await readRecords(nodes.machine(node), volume.path(node)));
    assert.deepEqual(
      found.map((stint) => stint.node),
      writers.map((writer) => writer.node),
    );
    for (const [at, { acknowledged }] of writers.entries()) {
      assert.ok((found[at]?.last ?? 0) >= acknowledged, `${found[at]?.last} of ${acknowledged}`);
    }
  };

  test(
    "it moves with its workload: published on two nodes, written on one at a time, everything there",
    everyday(),
    async () => {
      const { volume, writer: first } = await written("moves");
      const second = new Writer(nodes.machine("b"), await volume.publish("b"), "device");
      await first.progress(50);
      assert.equal(second.acknowledged, 0, "two nodes can write");
      const { stdout } = await mooring("why", `volume/${volume.id}`, "--kubeconfig", nodes.up.kubeconfig);
      assert.match(stdout, /step 2 of 3: a to b/);

      await first.stop();
      await volume.unpublish("a");
      assert.equal((await status(volume))?.currentNodeID, "b");
      await second.progress(50);
      await second.stop();
      await seen(volume, "b", first, second);
      assert.deepEqual(await devicesBelow(nodes.machine("a").stateDir), []);
      await volume.unpublish("b");
      await volume.remove();
    },
  );

  test(
    "the workload stays: what the other node was given is taken back, and nothing else changes",
    thorough(),
    async () => {
      const { volume, writer } = await written("stays");
      await volume.publish("b");
      await writer.progress(50);
      await volume.unpublish("b");
      assert.deepEqual(await devicesBelow(nodes.machine("b").stateDir), []);
      await writer.progress(50);
      await writer.stop();
      await seen(volume, "a", writer);
      await volume.unpublish("a");
      await volume.remove();
    },
  );

  test(
    "a node that dies in the middle: the other one has the volume, and all that was acknowledged",
    thorough(),
    async () => {
      const a = nodes.machine("a");
      const { volume, writer: first } = await written("death");
      await volume.publish("b");
      await a.losePower();
      await isOff("a");
      await volume.detach("a");
      await eventually("the volume to be on b", async () => {
        const { state, currentNodeID, currentMigrationNodeID = "" } = (await status(volume)) ?? {};
        return state === "attached" && currentNodeID === "b" && currentMigrationNodeID === "";
      });
      // Its device is another one than before: its workload there begins anew.
      await volume.unpublish("b");
      const second = new Writer(nodes.machine("b"), await volume.publish("b"), "device");
      await second.progress(50);
      await second.stop();
      await seen(volume, "b", first, second);
      await isOn("a");
      await volume.unpublish("b");
      await volume.remove();
    },
  );

  test(
    "the target dies before its turn: the volume stays with its workload, and the migration is over",
    thorough(),
    async () => {
      const b = nodes.machine("b");
      const { volume, writer } = await written("target");
      await volume.publish("b");
      await b.losePower();
      await writer.progress(50);
      await isOff("b");
      await volume.detach("b");
      await eventually("the migration to be over", async () => {
        const { spec, status: now } = await (await nodes.store()).get(Volumes, { name: volume.id });
        return (spec.migrationNodeID ?? "") === "" && (now?.currentMigrationNodeID ?? "") === "";
      });
      await writer.progress(50);
      await writer.stop();
      await seen(volume, "a", writer);
      await isOn("b");
      assert.deepEqual(await devicesBelow(b.stateDir), []);
      await volume.unpublish("a");
      await volume.remove();
    },
  );

  test(
    "the target dies while the volume is handed over to it: it is free again, with all that was acknowledged",
    thorough(),
    async () => {
      const a = nodes.machine("a");
      const { volume, writer: first } = await written("handed");
      await volume.publish("b");
      await first.stop();
      await volume.unmount("a");
      await nodes.machine("b").losePower();
      // No controller knows yet: the migration is confirmed, and the source gives the volume away.
      const controller = await nodes.controller();
      const leave = { volumeId: volume.id, nodeId: "a" };
      const left = controller.controllerUnpublishVolume(leave);
      await eventually("the source to have closed its device in step 3", async () => {
        const { spec, status: now } = await (await nodes.store()).get(Volumes, { name: volume.id });
        const moving = spec.nodeID === "b" && now?.currentNodeID === "a";
        return moving && (await devicesBelow(a.stateDir)).length === 0;
      });
      // The source has nothing of it any more, which does not wait for the target, nor for an operator.
      await left;
      assert.equal((await status(volume))?.currentMigrationNodeID, "b");
      await isOff("b");
      await eventually("the target's ticket to be taken back", () =>
        volume.detach("b").then(
          () => true,
          () => false,
        ),
      );
      await eventually("the volume to be free", async () => (await status(volume))?.state === "detached");
      await volume.publish("a");
      await seen(volume, "a", first);
      await isOn("b");
      await volume.unpublish("a");
      await volume.remove();
    },
  );

  test(
    "a third node, a file system and a local pool are refused, each with its reason",
    thorough(),
    async () => {
      covers("LHA-078");
      const refused = async (call: Promise<unknown>) => {
        return call.then(
          () => "it was done",
          (error: unknown) => String(error),
        );
      };
      const volume = await TestVolume.create(nodes, "third", "common", "migratable");
      await volume.publish("a");
      await volume.attach("b");
      assert.match(await refused(volume.attach("hub")), /does not have the shared pool/);
      await volume.detach("b");
      await volume.unpublish("a");
      await volume.remove();
      assert.match(
        await refused(TestVolume.create(nodes, "local", "default", "migratable")),
        /migratable volume needs one that several/,
      );
    },
  );
});
