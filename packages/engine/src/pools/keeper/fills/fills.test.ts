import { test } from "node:test";
import { sample } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { FILLS, type Fill, fillName } from "./rows.ts";
import { runFill } from "./run-fill.ts";

const host = createHost();

// One a day of each type of pool; all hundred with MOORING_DEEP=1.
const of = (type: string): Fill[] => FILLS.filter(({ pool }) => pool === type);
const rows = ["xfs", "btrfs"].flatMap((type) => sample(of(type), { everyday: 1, full: 6 }));

for (const fill of rows) {
  test(fillName(fill), (t) => runFill(t, host, fill));
}
