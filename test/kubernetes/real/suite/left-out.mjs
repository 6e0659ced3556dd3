// Specs of Kubernetes' storage tests that are not run, each with why. What a spec leaves out by itself is in the report.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { POPULATOR } from "../support/components.mjs";

const ALWAYS = [
  ["\\[Feature:Windows\\]", "nodes with Windows"],
  [
    "should create snapshots for StatefulSet volumes and verify data consistency after restore",
    "restores into claims of 1 MiB, whatever sizes a driver has: a volume with ext4 has 8 MiB at least, and so has its snapshot; Kubernetes' own provisioner refuses a claim that asks for less, too",
  ],
];

/**
 * Specs that change claims which no pod uses, and wait for that: the chart's class binds those only when a pod comes. They are run
 * with a class that binds at once.
 */
export const AT_ONCE = "multiple pods should modify volumes with a different volumeAttributesClass";

/** Patterns of a spec's full name. `bin`: where the programs are. */
export function leftOut(bin) {
  if (existsSync(join(bin, POPULATOR))) return ALWAYS;
  return [
    ...ALWAYS,
    ["should provision storage with any volume data source", `wants ${POPULATOR}, which is not built here`],
  ];
}
