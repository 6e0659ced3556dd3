import { test } from "node:test";
import { sample } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { runDefaultFill } from "./run-fill.ts";

const host = createHost();

/** What does not differ. */
const EACH = { user: "bare", kill: "nothing", room: "grow", volumes: 1 } as const;

const FILLS = (["xfs", "btrfs"] as const).flatMap((pool) =>
  (["ext4", "xfs", "raw"] as const).flatMap((on) =>
    (["synced", "lazy", "direct"] as const).map((writer) => ({ ...EACH, pool, on, writer })),
  ),
);

for (const fill of sample(FILLS, { everyday: 0, full: 6 })) {
  const { pool, on, writer } = fill;
  test(`a ${writer} writer on ${on} fills a ${pool} pool that holds nobody: what was synced is whole`, (t) =>
    runDefaultFill(t, host, fill));
}
