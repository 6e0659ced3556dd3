// Specs of Kubernetes' storage tests that are not run, each with why, and how many pass.
import { existsSync } from "node:fs";
import { join } from "node:path";
import { POPULATOR } from "../support/components.mjs";

export const WINDOWS = ["\\[Feature:Windows\\]", "nodes with Windows"];

/** Left out by their names. */
export const ALWAYS = [
  WINDOWS,
  [
    "should create snapshots for StatefulSet volumes and verify data consistency after restore",
    "restores a group snapshot into claims of 1 MiB, whatever sizes a driver has: a volume with ext4 has 8 MiB at least, and so has its snapshot; Kubernetes' own provisioner refuses a claim that asks for less, too",
  ],
];

/**
 * Specs that change claims which no pod uses, and wait for that: the chart's class binds those only when a pod comes. They are run
 * with a class that binds at once.
 */
export const AT_ONCE = "multiple pods should modify volumes with a different volumeAttributesClass";

const BY_FILE = "which the tests cannot make for a driver that they know by a file";
const OF_RAW = "not for raw volumes, as the tests have it";

/** What specs say that leave themselves out whatever the driver can, and why it is so here. */
export const OF_THE_TESTS = [
  ['volume type "PreprovisionedPV"', `pre-provisioned volumes, ${BY_FILE}`],
  ['volume type "InlineVolume"', `in-line volumes, ${BY_FILE}`],
  ["^No SSH Key", "want SSH to the nodes"],
  ["should be covered by block volume case", "what another spec has with a raw volume"],
  [
    '^Suite "volumeLimits" does not support',
    "volume limits of ephemeral volumes, which the tests do not have",
  ],
  [
    "doesn't specify performance test options",
    "performance: what a machine that others use has time for says nothing of Mooring",
  ],
];

/** The same of specs with raw volumes. */
export const OF_RAW_VOLUMES = [
  ["^raw block volumes cannot be read-only", OF_RAW],
  ["^skipping multiple PV mount test for block mode", OF_RAW],
  ["^Test is not valid for Block volume mode", OF_RAW],
  ["^Test for Block volumes is not implemented", OF_RAW],
];

/** The same of specs with snapshots, of a driver that has some. */
export const OF_SNAPSHOTS = [
  [
    '^volume type "\\w+" is (not )?ephemeral',
    "a spec for ephemeral volumes with those that have a claim, or the other way round",
  ],
  // It says so of a pattern of the tests that has no snapshots.
  [
    '^Driver "[\\w.]+" does not support snapshots',
    "a restored snapshot with volumes that the tests have without snapshots",
  ],
];

const BEFORE_PODS =
  "volumes that are bound before there is a pod, of a driver whose volumes are not on every node";

/** What they say of Mooring's own driver besides. A spec that says anything else fails the step. */
export const LEAVE_THEMSELVES_OUT = [
  ...OF_THE_TESTS,
  ...OF_RAW_VOLUMES,
  ["^Block volumes do not support mount options", OF_RAW],
  ...OF_SNAPSHOTS,
  ['volume type "CSIInlineVolume"', "CSI in-line volumes, which Mooring does not have"],
  ["No topology with at least 2 nodes", "two nodes in one topology: every node is one of its own"],
  [
    "doesn't support RWX",
    "several nodes write one volume (RWX): files over NFS, for which the kernel of the tests has no client, and raw volumes while they migrate only",
  ],
  ["does not support ROX access mode", "several nodes read one volume (ROX): as with RWX"],
  ["does not support SELinuxMount", "mounts for SELinux, which Mooring does not have"],
  ["^VolumeBindingMode immediate", BEFORE_PODS],
  ["with immediate binding", BEFORE_PODS],
  ["doesn't support ext3", "ext3, which Mooring does not make"],
  ["does not support volume limits", "volume limits: a node takes 1000 volumes, and the spec makes one more"],
];

export const WANTS_POPULATOR = [
  "should provision storage with any volume data source",
  `wants ${POPULATOR}, which is not built here`,
];

/** Pairs of a pattern of a spec's full name and why. `bin`: where the programs are. */
export const leftOut = (bin, always = ALWAYS) =>
  existsSync(join(bin, POPULATOR)) ? always : [...always, WANTS_POPULATOR];

/** So many passed when all were last run. */
export const LEAST_PASSED = 115;

/** One of them wants the populator, and the other one that does leaves itself out. `all`: with the populator. */
export const leastPassed = (bin, all = LEAST_PASSED) => all - (existsSync(join(bin, POPULATOR)) ? 0 : 1);
