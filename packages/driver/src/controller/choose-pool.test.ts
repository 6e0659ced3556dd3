import assert from "node:assert/strict";
import { describe, test } from "node:test";
import { CsiError, type v1 } from "@mooring/csi";
import { type Pool, type PoolType, TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { covers } from "@mooring/store/testing";
import { choosePool, type PoolWish } from "./choose-pool.ts";

const GIB = 1024 ** 3;

function pool(
  name: string,
  nodeID: string,
  more: { free?: number; type?: PoolType; ready?: boolean } = {},
): Pool {
  const { free = 10, type = "xfs", ready = true } = more;
  return {
    apiVersion: "v1",
    kind: "Pool",
    metadata: { name },
    spec: { type, nodeID, path: `/pools/${name}`, overcommit: 1 },
    status: { ready, totalBytes: 10 * GIB, freeBytes: 10 * GIB, promisedBytes: (10 - free) * GIB },
  };
}

const at = (...nodes: string[]) =>
  nodes.map((node) => ({ segments: { [TOPOLOGY_NODE_KEY]: node } }) as unknown as v1.Topology);
const requirement = (requisite: v1.Topology[], preferred: v1.Topology[] = []) =>
  ({ requisite, preferred }) as unknown as v1.TopologyRequirement;

const POOLS = [pool("a", "n1", { free: 3 }), pool("b", "n2", { free: 9 }), pool("c", "n3", { free: 1 })];

function choose(wish: Partial<PoolWish>, pools: readonly Pool[] = POOLS): string {
  const blank = {
    pool: undefined,
    block: false,
    size: BigInt(GIB),
    accessibilityRequirements: undefined,
    sourcePool: undefined,
  };
  try {
    return choosePool(pools, { ...blank, ...wish }).metadata.name;
  } catch (error) {
    assert.ok(error instanceof CsiError);
    return error.codeName;
  }
}

describe("the pool of a new volume", () => {
  test("without wishes it is the one with the most room", () => {
    assert.equal(choose({}), "b");
    assert.equal(choose({ size: BigInt(20 * GIB) }), "RESOURCE_EXHAUSTED");
  });

  test("preferred topologies are tried in their order", () => {
    covers("CSI-110");
    assert.equal(
      choose({ accessibilityRequirements: requirement(at("n1", "n2", "n3"), at("n3", "n1")) }),
      "c",
    );
    assert.equal(
      choose({
        accessibilityRequirements: requirement(at("n1", "n2", "n3"), at("n3", "n1")),
        size: BigInt(2 * GIB),
      }),
      "a",
    );
  });

  test("then any requisite one, and none besides", () => {
    covers("CSI-105", "CSI-107", "CSI-112", "CSI-113");
    assert.equal(choose({ accessibilityRequirements: requirement(at("n1", "n3"), at("n9")) }), "a");
    assert.equal(
      choose({ accessibilityRequirements: requirement(at("n1", "n3")), size: BigInt(5 * GIB) }),
      "RESOURCE_EXHAUSTED",
    );
    assert.equal(choose({ accessibilityRequirements: requirement(at("n9")) }), "RESOURCE_EXHAUSTED");
    assert.equal(choose({ accessibilityRequirements: requirement([], at("n9")) }), "b");
    const foreign = [{ segments: { "example.com/zone": "z" } }] as unknown as v1.Topology[];
    assert.equal(choose({ accessibilityRequirements: requirement(foreign) }), "RESOURCE_EXHAUSTED");
  });

  test("a named pool is that pool or an error; copies stay with their source; folders have no devices", () => {
    assert.equal(choose({ pool: "a" }), "a");
    assert.equal(choose({ pool: "x" }), "INVALID_ARGUMENT");
    assert.equal(choose({ sourcePool: "c" }), "c");
    assert.equal(choose({ sourcePool: "c", pool: "a" }), "INVALID_ARGUMENT");
    const mixed = [pool("folder", "n1", { type: "directory" }), pool("a", "n1")];
    assert.equal(choose({ block: true }, mixed), "a");
    assert.equal(choose({ block: true, pool: "folder" }, mixed), "INVALID_ARGUMENT");
  });

  test("pools that are being opened are worth another try", () => {
    assert.equal(choose({}, [pool("a", "n1", { ready: false })]), "UNAVAILABLE");
    assert.equal(choose({}, [pool("a", "n1", { ready: false }), pool("b", "n1")]), "b");
  });
});
