import assert from "node:assert/strict";
import { mkdir, readdir } from "node:fs/promises";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { covers, eventually, everyday, howMany, thorough } from "@mooring/store/testing";
import fc from "fast-check";
import { capability, codeOf, createVolume, failureOf, MIB, startWorld, type World } from "./testing/world.ts";

const choice = { fsType: "ext4", mode: "SINGLE_NODE_MULTI_WRITER" } as const;
const volumeCapability = capability(choice);

/** Codes that a caller may meet when others work on the same volume; anything else is a bug. */
const HONEST = new Set([
  "OK",
  "ABORTED",
  "FAILED_PRECONDITION",
  "NOT_FOUND",
  "ALREADY_EXISTS",
  "CANCELLED",
  "DEADLINE_EXCEEDED",
  "UNAVAILABLE",
]);

describe("many callers at once", () => {
  let world: World;
  before(async () => {
    world = await startWorld();
  });
  after(() => world.end());

  const repeat = async (call: () => Promise<unknown>, good: readonly string[] = ["OK"]) => {
    const response = await eventually("a response other than ABORTED", async () => {
      const { code, message } = await failureOf(call());
      return code !== "ABORTED" && { code, message };
    });
    assert.ok(good.includes(response.code), `${response.code}: ${response.message}`);
  };
  const steps = (volumeId: string, name: string) => {
    const { controller, node } = world.client;
    const { nodeID: nodeId } = world;
    const [stagingTargetPath, targetPath] = [world.path(`staging-${name}`), world.path(`target-${name}`)];
    return {
      publish: () => controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability }),
      stage: () => node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability }),
      bind: () => node.nodePublishVolume({ volumeId, stagingTargetPath, targetPath, volumeCapability }),
      stats: () => node.nodeGetVolumeStats({ volumeId, volumePath: targetPath }),
      grow: () =>
        controller.controllerExpandVolume({ volumeId, capacityRange: { requiredBytes: 24n * MIB } }),
      unbind: () => node.nodeUnpublishVolume({ volumeId, targetPath }),
      unstage: () => node.nodeUnstageVolume({ volumeId, stagingTargetPath }),
      unpublish: () => controller.controllerUnpublishVolume({ volumeId, nodeId }),
      remove: () => controller.deleteVolume({ volumeId }),
    };
  };
  const tearDown = async (volumeId: string, name: string) => {
    const all = steps(volumeId, name);
    if ((await codeOf(world.client.controller.controllerGetVolume({ volumeId }))) === "NOT_FOUND") return;
    // A deletion that its caller gave up on may end in the midst of this.
    for (const step of [all.unbind, all.unstage]) await repeat(step, ["OK", "NOT_FOUND"]);
    for (const step of [all.unpublish, all.remove]) await repeat(step);
  };
  const nothingLeft = async () => {
    const left = (await world.host.mounts.list()).filter(({ target }) =>
      target.startsWith(join(world.folder, "mounts")),
    );
    assert.deepEqual(left, []);
    // The node forgets by a watch what was deleted before it was unstaged.
    await eventually("nothing to be remembered", async () => {
      const records = await readdir(join(world.folder, "state", "node-volumes")).catch(() => []);
      return records.length === 0;
    });
    const images = (await world.host.loops.list()).filter(({ backingFile }) =>
      backingFile.startsWith(world.folder),
    );
    assert.deepEqual(
      images.filter(({ backingFile }) => /v-[-0-9a-f]+\.img/.test(backingFile)),
      [],
    );
    assert.deepEqual((await world.client.controller.listVolumes({})).entries, []);
  };

  test("the same call many times at once has one effect", everyday(), async () => {
    covers("CSI-020", "CSI-136", "CSI-159", "CSI-258", "CSI-289");
    const volumeId = await createVolume(world, "storm", { ...choice, size: 16n * MIB });
    const all = steps(volumeId, "storm");
    await mkdir(world.path("staging-storm"));
    for (const step of [
      all.publish,
      all.stage,
      all.bind,
      all.grow,
      all.unbind,
      all.unstage,
      all.unpublish,
      all.remove,
    ]) {
      const codes = await Promise.all(Array.from({ length: 12 }, () => codeOf(step())));
      assert.deepEqual(
        codes.filter((code) => code !== "OK" && code !== "ABORTED"),
        [],
      );
      assert.ok(codes.includes("OK"));
    }
    await nothingLeft();
  });

  test("thirty volumes live side by side", thorough(), async () => {
    const lives = Array.from({ length: 30 }, async (_, index) => {
      const name = `side-${index}`;
      const volumeId = await createVolume(world, name, { ...choice, size: 16n * MIB });
      const all = steps(volumeId, name);
      for (const step of [all.publish, all.stage, all.bind, all.stats]) await repeat(step);
      await tearDown(volumeId, name);
    });
    await Promise.all(lives);
    await nothingLeft();
  });

  test(
    "calls in any order, at any time, given up at any time: honest codes, and it all goes away",
    everyday(),
    async () => {
      covers("CSI-019", "CSI-020");
      const moves = [
        "publish",
        "stage",
        "bind",
        "stats",
        "grow",
        "unbind",
        "unstage",
        "unpublish",
        "remove",
      ] as const;
      const script = fc.array(
        fc.record({
          move: fc.constantFrom(...moves),
          after: fc.integer({ min: 0, max: 20 }),
          patience: fc.integer({ min: 1, max: 200 }),
        }),
        { minLength: 5, maxLength: 25 },
      );
      let round = 0;
      await fc.assert(
        fc.asyncProperty(script, async (calls) => {
          const name = `script-${round++}`;
          const volumeId = await createVolume(world, name, { ...choice, size: 16n * MIB });
          await mkdir(world.path(`staging-${name}`));
          const { controller, node } = world.client;
          const running = calls.map(async ({ move, after: wait, patience }) => {
            await sleep(wait);
            const options = { timeoutMs: patience };
            const { nodeID: nodeId } = world;
            const [stagingTargetPath, targetPath] = [
              world.path(`staging-${name}`),
              world.path(`target-${name}`),
            ];
            const make = {
              publish: () =>
                controller.controllerPublishVolume({ volumeId, nodeId, volumeCapability }, options),
              stage: () => node.nodeStageVolume({ volumeId, stagingTargetPath, volumeCapability }, options),
              bind: () =>
                node.nodePublishVolume(
                  { volumeId, stagingTargetPath, targetPath, volumeCapability },
                  options,
                ),
              stats: () => node.nodeGetVolumeStats({ volumeId, volumePath: targetPath }, options),
              grow: () =>
                controller.controllerExpandVolume(
                  { volumeId, capacityRange: { requiredBytes: 24n * MIB } },
                  options,
                ),
              unbind: () => node.nodeUnpublishVolume({ volumeId, targetPath }, options),
              unstage: () => node.nodeUnstageVolume({ volumeId, stagingTargetPath }, options),
              unpublish: () => controller.controllerUnpublishVolume({ volumeId, nodeId }, options),
              remove: () => controller.deleteVolume({ volumeId }, options),
            }[move];
            const code = await codeOf(make());
            assert.ok(HONEST.has(code), `${move}: ${code}`);
          });
          await Promise.all(running);
          await tearDown(volumeId, name);
          await nothingLeft();
        }),
        { numRuns: howMany({ everyday: 3, full: 15, deep: 100 }), endOnFailure: true },
      );
    },
  );
});
