import { join } from "node:path";
import { after, before, describe, test } from "node:test";
import { type CsiClient, connect } from "@mooring/csi";
import { covers } from "@mooring/store/testing";
import { Nodes } from "../nodes/support/world.ts";
import { proveRow } from "./support/prove-row.ts";
import { POOLS, rowsOf, snapshotsOf, titleOf } from "./support/rows.ts";
import { siteOfMachine } from "./support/volume-set.ts";

const NODES = ["a", "b"];

/** The same writers, their volumes in turn on two machines that share nothing but the API server. */
for (const pool of POOLS) {
  const rows = rowsOf(pool, true);
  if (rows.length === 0) continue;
  describe(`ordered writers over two nodes with ${pool} pools`, () => {
    let nodes: Nodes;
    let client: CsiClient;
    before(async () => {
      nodes = await Nodes.create({ nodes: NODES, nodeArgs: ["--pool", pool, "--pool-size", "8Gi"] });
      client = await connect(`unix://${join(nodes.up.stateDir, "csi.sock")}`, { timeoutMs: 120_000 });
    });
    after(async () => {
      client?.close();
      await nodes?.dispose();
    });

    const sites = () => Promise.all(NODES.map((name) => siteOfMachine(nodes.machine(name), client)));
    for (const row of rows) {
      test(`${titleOf(row)}: ${snapshotsOf(row)} group snapshots are each one moment, independent ones are not`, (t) => {
        covers("KEP-002");
        return proveRow(t, row, client, sites);
      });
    }
  });
}
