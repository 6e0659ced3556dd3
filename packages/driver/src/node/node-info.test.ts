import assert from "node:assert/strict";
import { after, before, test } from "node:test";
import { covers } from "@mooring/store/testing";
import { startWorld, type World } from "../testing/world.ts";

let world: World;
before(async () => {
  world = await startWorld();
});
after(() => world.end());

test("the node reports who and where it is, and how much it takes", async () => {
  covers("CSI-303", "CSI-305", "CSI-306", "CSI-307");
  const info = await world.client.node.nodeGetInfo({});
  assert.equal(info.nodeId, world.nodeID);
  assert.equal(info.maxVolumesPerNode, 1000n);
  assert.deepEqual(
    { ...info.accessibleTopology?.segments },
    { "topology.storage.mooring.dev/node": world.nodeID },
  );
});
