import { test } from "node:test";
import { sample } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { FILLS, fillName } from "./rows.ts";
import { runDefaultFill } from "./run-fill.ts";

const host = createHost();
/** There is no keeper to kill, so rows that differ in nothing else are one. */
const ROWS = new Map(
  FILLS.map((fill) => ({ ...fill, kill: "nothing" }) as const).map((fill) => [fillName(fill), fill]),
);

for (const [name, fill] of sample([...ROWS], { everyday: 0, full: 6 })) {
  test(`${name}, in a pool that holds nobody: what was synced is whole`, (t) =>
    runDefaultFill(t, host, fill));
}
