import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CsiError } from "@mooring/csi";
import type { Pool } from "@mooring/engine";
import { capability, failureOf, MIB, startWorld } from "../testing/world.ts";
import { choosePool } from "./choose-pool.ts";

const GIB = 1024 ** 3;
const FEATURED = { imageFeatures: "layering,exclusive-lock" };

function pool(name: string, type: "xfs" | "rbd"): Pool {
  const shared = type === "rbd";
  return {
    ...{ apiVersion: "v1", kind: "Pool", metadata: { name } },
    spec: { type, path: "/p", ...(shared ? { mode: "shared" } : { nodeID: "n1" }) },
    status: { ready: true, nodes: ["n1"], totalBytes: 9 * GIB, freeBytes: 9 * GIB, promisedBytes: 0 },
  };
}

const POOLS = [pool("local", "xfs"), pool("ceph", "rbd")];

function choose(named: string | undefined, pools: readonly Pool[] = POOLS): string {
  const blank = {
    block: false,
    size: BigInt(GIB),
    accessibilityRequirements: undefined,
    sourcePool: undefined,
  };
  try {
    return choosePool(pools, { ...blank, pool: named, featured: true }).metadata.name;
  } catch (error) {
    assert.ok(error instanceof CsiError);
    return `${error.codeName}: ${error.message}`;
  }
}

describe("imageFeatures of a class", () => {
  test("a volume that has them is made in a Ceph pool, or refused", () => {
    assert.equal(choose(undefined), "ceph");
    assert.equal(choose("ceph"), "ceph");
    assert.match(choose("local"), /^INVALID_ARGUMENT: pool "local" is in no Ceph cluster/);
    assert.match(choose("none"), /^INVALID_ARGUMENT: there is no pool "none"/);
    assert.match(
      choose(undefined, POOLS.slice(0, 1)),
      /^INVALID_ARGUMENT: there is no pool in a Ceph cluster/,
    );
  });

  test("what no image may have is refused with why, and nothing is made", async () => {
    const world = await startWorld({ pool: "btrfs" });
    try {
      const { controller } = world.client;
      const refused: [string, RegExp][] = [
        [
          "layering,exclusive-lock,journaling",
          /"imageFeatures": ".*" is refused for journaling: the kernel's/,
        ],
        ["layering", /is refused: it lacks exclusive-lock/],
        ["layering;exclusive-lock", /is refused for "layering;exclusive-lock": known are/],
        [FEATURED.imageFeatures, /there is no pool in a Ceph cluster/],
      ];
      for (const [imageFeatures, message] of refused) {
        const failure = await failureOf(
          controller.createVolume({
            ...{
              name: "refused",
              capacityRange: { requiredBytes: 64n * MIB },
              parameters: { imageFeatures },
            },
            volumeCapabilities: [capability({ access: "block" })],
          }),
        );
        assert.equal(failure.code, "INVALID_ARGUMENT", failure.message);
        assert.match(failure.message, message);
      }
      assert.equal((await controller.getCapacity({ parameters: FEATURED })).availableCapacity, 0n);
      assert.equal((await controller.listVolumes({})).entries.length, 0);
    } finally {
      await world.end();
    }
  });
});
