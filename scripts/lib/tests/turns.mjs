// Long proofs, in the order of days: where the time is short, the gate runs the ones of the day first, and so all in three days.

/**
 * By day, each about as long: kills at more failpoints of one part, longer random histories, larger sets and tables, the same flow once
 * more on Ceph, on three nodes or with a database. What they are about is met every day by a shorter test of `npm test`, and
 * `test/crash` kills the whole every day. `npm run test:all` runs each.
 */
const TURNS = [
  [
    ...[
      "cluster/services/crash",
      "node/group-snapshot/ceph",
      "node/group-snapshot/cluster-crash",
      "node/group-snapshot/crash",
      "histories",
    ].map((name) => `packages/engine/src/${name}`),
    ...["apiserver/fuzz/leases", "controllers/garbage-collector/crash", "controllers/job/crash"].map(
      (name) => `packages/standalone/src/${name}`,
    ),
    ...["csi/crash", "fuzz/driver", "release/release", "scale/two-hundred", "situations/situations"].map(
      (name) => `test/${name}`,
    ),
    ...["cluster/several-drivers", "e2e/bad-input", "e2e/postgresql-chart"].map((name) => `test/${name}`),
  ],
  [
    "packages/driver/src/crash/crash",
    ...["cluster/group-revert/crash", "node/group-snapshot/one-moment", "node/share/ceph"].map(
      (name) => `packages/engine/src/${name}`,
    ),
    ...["group-clone/crash", "volume-group/churn", "volume-group/crash"].map(
      (name) => `packages/sidecars/src/${name}`,
    ),
    ...[
      "apiserver/fairness/many-connections",
      "apiserver/fuzz/fuzz",
      "controllers/workloads/crash",
      "kubelet/crash",
    ].map((name) => `packages/standalone/src/${name}`),
    ...["e2e/groups-bad-input", "e2e/rbd-import", "group/postgresql", "group/two-nodes"].map(
      (name) => `test/${name}`,
    ),
    "test/nodes/data-services",
  ],
  [
    "packages/driver/src/crash/groups",
    ...["node/crash", "node/migration/crash", "node/migration/rbd", "node/sharing/crash"].map(
      (name) => `packages/engine/src/${name}`,
    ),
    ...["histories", "small-scope"].map((name) => `packages/engine/src/simulation/${name}`),
    ...["crash/crash", "group-restore/crash", "histories", "volume-group/decide.property"].map(
      (name) => `packages/sidecars/src/${name}`,
    ),
    "packages/standalone/src/controllers/workloads/histories",
    ...["crash/kill-loop", "group/ordered-writers", "group/revert-kills"].map((name) => `test/${name}`),
    ...["cluster/two-processes", "e2e/shared-volumes", "e2e/tickets-bad-input", "nodes/restart"].map(
      (name) => `test/${name}`,
    ),
    "test/kubernetes/attach-detach/attach-detach",
  ],
].map((names) => names.map((name) => `${name}.test.ts`));

/** Every file that has a turn. */
export const inTurn = TURNS.flat();

/** Which of `turns` days the file runs on; `turn` is undefined for one that runs every day. */
export function turnOf(path) {
  const turn = TURNS.findIndex((paths) => paths.includes(path));
  return { turn: turn === -1 ? undefined : turn, turns: TURNS.length };
}
