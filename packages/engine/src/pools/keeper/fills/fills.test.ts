import { test } from "node:test";
import { currentPart } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { FILLS, fillName } from "./rows.ts";
import { runFill } from "./run-fill.ts";

const host = createHost();

/**
 * Not every row passes yet (docs/tasks/full-pools.md says which do not), so that a full pool holds its writers only where
 * it is asked to. All of them run with MOORING_DEEP=1.
 */
const SURE = FILLS.filter(
  ({ pool, on, writer, kill, room }) =>
    pool === "xfs" && on === "ext4" && writer === "synced" && kill === "nothing" && room === "grow",
);
const rows = currentPart() === "deep" ? FILLS : SURE;

for (const fill of rows) {
  test(fillName(fill), (t) => runFill(t, host, fill));
}
