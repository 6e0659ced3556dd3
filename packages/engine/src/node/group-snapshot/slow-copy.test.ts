import assert from "node:assert/strict";
import promises, { type copyFile } from "node:fs/promises";
import { syncBuiltinESMExports } from "node:module";
import { after, type TestContext, test } from "node:test";
import { setTimeout as sleep } from "node:timers/promises";
import { bundleProgram, sample } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { until } from "../../testing/agent.ts";
import { Cluster, type ClusterPool } from "../../testing/cluster.ts";
import { startWriter } from "./testing/ordered-blocks.ts";
import { groupObject } from "./testing/story.ts";
import { useVolume } from "./testing/use-volume.ts";

const writer = await bundleProgram(new URL("./testing/ordered-writer.ts", import.meta.url));
after(writer.remove);

const XFS: ClusterPool = { name: "x", type: "xfs", node: "a" };
const BTRFS: ClusterPool = { name: "b", type: "btrfs", node: "a" };
const FAR: ClusterPool = { name: "far", type: "xfs", node: "z" };
/** Longer than writers may be frozen. */
const COPY_MS = 4_000;
const DEADLINE_SECONDS = 3;
const ended = ({ status }: GroupSnapshot): boolean => ["ready", "failed"].includes(status?.state ?? "");

/** Copies in this folder take long. */
function slowCopies(t: TestContext, { host }: Cluster, folder: string): void {
  const { run } = host.exec;
  t.mock.method(host.exec, "run", async (...call: Parameters<typeof run>) => {
    const isCopy = call[0] === "btrfs" && call[1][1] === "snapshot" && call[1].join(" ").includes(folder);
    if (isCopy) await sleep(COPY_MS);
    return run.apply(host.exec, call);
  });
  const original = promises.copyFile;
  const { mock } = t.mock.method(promises, "copyFile", async (...call: Parameters<typeof copyFile>) => {
    if (String(call[0]).startsWith(folder)) await sleep(COPY_MS);
    return original(...call);
  });
  syncBuiltinESMExports();
  t.after(() => {
    mock.restore();
    syncBuiltinESMExports();
  });
}

const CASES: [string, ClusterPool[], ClusterPool, RegExp][] = [
  [
    "xfs",
    [XFS, XFS],
    XFS,
    /^the copy of v-0, v-1 was not done within 3 s, after which writes went on \(raise the deadline, use volumes of a btrfs pool, or snapshot fewer of them at once\)$/,
  ],
  ["btrfs", [BTRFS, BTRFS], BTRFS, /^the copy of v-0, v-1 was not done within 3 s \(raise the deadline, or /],
  [
    "one of two nodes",
    [XFS, FAR],
    FAR,
    /^(the copy of v-1 was not done|volume v-1 on node z could not be copied)/,
  ],
];

for (const [what, pools, slow, reason] of sample(CASES, { everyday: 1 })) {
  test(`${what}: a copy that is not done in time fails the group whole, names the volumes and says what to do`, async (t) => {
    const cluster = await Cluster.open(t, [...new Set(pools)]);
    const files: string[] = [];
    for (const [index, { name, node }] of pools.entries())
      files.push(await useVolume(cluster, `v-${index}`, name, { access: "mounted", node }));
    slowCopies(t, cluster, `${cluster.dir}/${slow.node}/`);
    const running = await startWriter(writer.path, files);
    try {
      const group = groupObject("g-1", [], { deadlineSeconds: DEADLINE_SECONDS });
      group.spec.members = pools.map(({ name }, index) => ({
        ...{ volume: `v-${index}`, snapshot: `s-${index}`, pool: name },
      }));
      await cluster.store.create(GroupSnapshots, group);
      const { status } = await until(cluster.store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "failed");
      assert.match(status?.error?.message ?? "", reason);
      await running.goesOn();
      assert.deepEqual((await cluster.store.list(Snapshots)).items, []);
    } finally {
      await running.stop();
    }
  });
}
