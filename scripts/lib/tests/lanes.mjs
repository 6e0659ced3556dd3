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
const WAITING = ["test/cluster/", "test/nodes/", "test/e2e/"];
/** What is tested here has to be done in time. */
const TIMED = ["test/group/", "test/scale/"];

/** Whole files that `npm test` leaves to `npm run test:rest`. */
const THOROUGH = [
  ...["bad-input", "group-postgresql", "groups-bad-input", "tickets-bad-input"].map((name) => `e2e/${name}`),
  ...["nodes/three-nodes", "scale/two-hundred"],
].map((name) => `test/${name}.test.ts`);

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
  pure: { cost: 1, apart: false, seconds: 2 },
  host: { cost: 1, apart: true, seconds: 10 },
  waiting: { cost: 0.5, apart: true, seconds: 30 },
  clock: { cost: Number.POSITIVE_INFINITY, apart: true, seconds: 30 },
};

/**
 * How a file is run: `cost` in processors, `apart` for a mount namespace of its own, `seconds` as long as it takes when
 * nobody has seen it run. What has to be done in time is left to the rest of the tests.
 */
export function laneOf(file, part) {
  const path = relative(ROOT, file);
  const isBelow = (folder) => path.startsWith(folder);
  if (PURE.some(isBelow)) return LANES.pure;
  if (TIMED.some(isBelow)) return part === "everyday" ? LANES.host : LANES.clock;
  return WAITING.some(isBelow) ? LANES.waiting : LANES.host;
}
