import assert from "node:assert/strict";
import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type CsiClient, connect } from "@mooring/csi";
import type { PoolType } from "@mooring/engine";
import { Nodes } from "../nodes/support/world.ts";
import { cutApart, cutTogether, onStage } from "./support/rounds.ts";
import { TWO_NODES } from "./support/sets.ts";
import { type Access, siteOfMachine } from "./support/volume-set.ts";

/** The same writers, their volumes in turn on two machines that share nothing but the API server. */
for (const pool of ["xfs", "btrfs"] as PoolType[]) {
  describe(`ordered writers over two nodes with ${pool} pools`, () => {
    let nodes: Nodes;
    let client: CsiClient;
    before(async () => {
      nodes = await Nodes.create({ nodes: ["a", "b"], nodeArgs: ["--pool", pool, "--pool-size", "8Gi"] });
      client = await connect(`unix://${join(nodes.up.stateDir, "csi.sock")}`, { timeoutMs: 120_000 });
    });
    after(async () => {
      client?.close();
      await nodes?.dispose();
    });

    for (const access of ["mount", "block"] as Access[])
      for (const [count, snapshots] of TWO_NODES) {
        test(`[KEP-002] ${count} ${access} volumes on two nodes: ${snapshots} group snapshots are each one moment, independent ones are not`, async () => {
          const sites = await Promise.all(
            ["a", "b"].map((name) => siteOfMachine(nodes.machine(name), client)),
          );
          await onStage(client, sites, access, count, async (stage) => {
            await cutTogether(stage, snapshots);
            const { violations } = await cutApart(stage);
            assert.notDeepEqual(violations, [], "the harness sees that independent snapshots differ");
          });
        });
      }
  });
}
