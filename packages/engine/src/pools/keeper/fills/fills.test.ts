import { test } from "node:test";
import { sample } from "@mooring/store/testing";
import { createHost } from "../../../host/create-host.ts";
import { FILLS, fillName } from "./rows.ts";
import { runFill } from "./run-fill.ts";

const host = createHost();

// One a day; all hundred with MOORING_DEEP=1.
for (const fill of sample(FILLS, { everyday: 1, full: 12 })) {
  test(fillName(fill), (t) => runFill(t, host, fill));
}
