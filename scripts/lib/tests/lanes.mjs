// Which test files may run at the same time, and how much of the machine each takes.
import { relative } from "node:path";
import { ROOT } from "../setup.mjs";

/** What is tested here touches nothing but folders and sockets of its own. */
const PURE = [
  ...["csi", "sidecars", "store"],
  ...["cluster/arbiter", "simulation", "tickets"].map((name) => `engine/src/${name}`),
  ...["apiserver", "builtin", "controllers", "crd", "schema"].map((name) => `standalone/src/${name}`),
].map((name) => `packages/${name}/`);
/** What is tested here waits, for leases that end and for machines that come back, more than it works. */
const WAITING = ["test/cluster/", "test/nodes/", "test/e2e/", "test/kubernetes/attach-detach/"];
/** What is tested here has to be done in time. */
const TIMED = ["test/group/", "test/scale/"];

/**
 * Files that every day have one process: for the machines of test/nodes/support/pair.ts, for one of test/support/world.ts,
 * or for what they load. What they put away they put away by test/support/at-end.ts.
 */
const WORLDS = {
  pair: ["logs", "lost-machine", "migration", "shared-pool", "shared-volumes"].map((name) => `nodes/${name}`),
  up: [
    ...["attack/containers", "situations/situations"],
    ...["controller", "exec", "live-objects", "pods", "port-forward", "provisioning"].map(
      (name) => `e2e/${name}`,
    ),
  ],
  drivers: [
    ...[
      "capabilities",
      "create-volume",
      "docs",
      "identity",
      "node-publish",
      "node-stage",
      "probe",
      "process",
    ],
    ...["snapshots", "topology", "v0", "volumes"],
  ].map((name) => `csi/${name}`),
  pool: ["group-snapshots", "groups", "snapshots", "volume-groups"].map((name) => `e2e/${name}`),
};

/** Whole files that `npm test` leaves to `npm run test:rest`. */
const THOROUGH = [
  // How wrong input is refused.
  ...["bad-input", "groups-bad-input", "tickets-bad-input"].map((name) => `test/e2e/${name}`),
  ...["client/client", "output/api-refusal"].map((name) => `packages/cli/src/${name}`),
  "packages/sidecars/src/group-snapshot/bad-input",
  ...["csi/v1-errors", "csi/wire"].map((name) => `test/${name}`),
  "packages/driver/src/volume-group/refusals",
  ...["hand-edited-spec", "hand-edited", "heartbeat/hand-edited", "sharing/hand-edited"].map(
    (name) => `packages/engine/src/node/${name}`,
  ),
  // A flow that another file has every day, with more nodes, in another mode, on another pool, or under a fault.
  ...["data-services", "restart", "three-nodes"].map((name) => `test/nodes/${name}`),
  "packages/engine/src/pools/keeper/fills/default-fills",
  ...[
    "e2e/group-postgresql",
    "e2e/group-revert-postgresql",
    "e2e/postgresql-chart",
    "e2e/shared-volumes",
    "group/postgresql",
    "group/two-nodes",
    "release/release",
    "scale/two-hundred",
  ].map((name) => `test/${name}`),
  ...["directory", "multi-node-modes", "two-processes"].map((name) => `test/csi/${name}`),
  "packages/engine/src/node/share/fault",
  "packages/engine/src/pools/btrfs",
  // A part of it that a test of fewer processes has every day.
  ...["attack/images", "csi/silent-server", "e2e/memory"].map((name) => `test/${name}`),
  // The same story from a lower level, or at a larger size.
  ...["growth", "publishing", "remounted", "staging"].map((name) => `packages/driver/src/node/${name}`),
  ...["csi/pages", "group/ordered-writers"].map((name) => `test/${name}`),
  "packages/engine/src/simulation/small-scope",
  ...["crd-kubectl", "large-list"].map((name) => `packages/standalone/src/apiserver/${name}`),
  // Tests of which every one is long: what they set up first has its price as well.
  ...["doctor-rights", "own-kinds", "several-drivers", "two-processes"].map((name) => `test/cluster/${name}`),
  "packages/standalone/src/apiserver/fuzz/leases",
  // What a release has.
  "packages/csi/src/published",
].map((name) => `${name}.test.ts`);

/** Whether the whole file is too long for every day. */
export function isThorough(file) {
  return THOROUGH.includes(relative(ROOT, file));
}

/**
 * - `pure`: as it is;
 * - `host`: mounts, in a mount namespace of its own;
 * - `waiting`: the same, and leaves the processors to others most of the time;
 * - `clock`: the same as `host`, with nothing beside it.
 */
const LANES = {
  pure: { cost: 1, apart: false, seconds: 2, shares: true },
  host: { cost: 0.7, apart: true, seconds: 5, shares: true },
  waiting: { cost: 0.3, apart: true, seconds: 30 },
  clock: { cost: Number.POSITIVE_INFINITY, apart: true, seconds: 30 },
};

/**
 * How a file is run: `cost` in processors, `apart` for a mount namespace of its own, `seconds` as long as it takes when
 * no run has measured it, `shares` when it may share its process with others, `world` names what it has in common with all
 * files of one process. What has to be done in time is left to the rest of the tests.
 */
export function laneOf(file, part) {
  const path = relative(ROOT, file);
  const world = part === "everyday" ? worldOf(path) : undefined;
  return { ...laneOfPath(path, part), world };
}

const worldOf = (path) =>
  Object.keys(WORLDS).find((world) => WORLDS[world].some((name) => path === `test/${name}.test.ts`));

function laneOfPath(path, part) {
  const isBelow = (folder) => path.startsWith(folder);
  if (PURE.some(isBelow)) return LANES.pure;
  if (TIMED.some(isBelow)) return part === "everyday" ? { ...LANES.host, shares: false } : LANES.clock;
  if (WAITING.some(isBelow)) return LANES.waiting;
  // Drivers of a whole file live as long as its process.
  return isBelow("test/csi/") ? { ...LANES.host, shares: false } : LANES.host;
}
