import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { readdir, readFile, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { after, test } from "node:test";
import { removeFinalizer } from "@mooring/store";
import { bundleProgram, covers, currentPart, everyday, sample, thorough } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import { ENGINE_FINALIZER } from "../../api/names.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { until } from "../../testing/agent.ts";
import { Cluster, type ClusterPool } from "../../testing/cluster.ts";
import { requirePrefix, startWriter, type Writer } from "./testing/ordered-blocks.ts";
import { playNode, playPrepared } from "./testing/play-node.ts";
import { gone, groupObject } from "./testing/story.ts";
import { type Access, controlGroup, useVolume } from "./testing/use-volume.ts";

const writer = await bundleProgram(new URL("./testing/ordered-writer.ts", import.meta.url));
after(writer.remove);

const ROUNDS = { everyday: 2, rest: 4, all: 4, deep: 50 }[currentPart()];
const XFS: ClusterPool = { name: "x", type: "xfs", node: "a" };
const BTRFS: ClusterPool = { name: "b", type: "btrfs", node: "a" };
const FAR: ClusterPool = { name: "far", type: "xfs", node: "z" };
const FAR_BTRFS: ClusterPool = { name: "far", type: "btrfs", node: "z" };
const COMMON: ClusterPool = { name: "common", type: "xfs", node: "a", shared: true };
const COMMON_FAR: ClusterPool = { ...COMMON, node: "z" };
/** A barrier that is late fails for good, and how fast one is on a busy machine is not what is asked here. */
const PATIENT = { deadlineSeconds: 60 };
const ended = (group: GroupSnapshot): boolean => ["ready", "failed"].includes(group.status?.state ?? "");

async function snapshotAndCheck(
  cluster: Cluster,
  running: Writer,
  group: GroupSnapshot,
): Promise<GroupSnapshot> {
  const { name } = group.metadata;
  const acknowledged = running.acknowledged();
  await cluster.store.create(GroupSnapshots, group);
  const made = await until(cluster.store, GroupSnapshots, name, ended);
  assert.equal(made.status?.state, "ready", JSON.stringify(made.status));
  await running.goesOn();
  await requirePrefix(
    group.spec.members.map(({ snapshot, pool }) => cluster.image(snapshot, pool)),
    acknowledged,
  );
  await gone(cluster.store, GroupSnapshots, name);
  return made;
}

/** `mixed`: every other member is a raw device, as a database's log beside its data may be. */
const CASES: [string, ClusterPool[], Access | "mixed", string][] = [
  ["xfs, mounted", [XFS, XFS, XFS], "mounted", "freeze"],
  ["xfs, raw devices of a control group", [XFS, XFS, XFS], "raw", "cgroup"],
  ["btrfs, mounted", [BTRFS, BTRFS, BTRFS], "mounted", "subvolume"],
  ["btrfs, raw devices", [BTRFS, BTRFS, BTRFS], "raw", "subvolume"],
  ["xfs and btrfs", [XFS, BTRFS, XFS], "mounted", "freeze"],
  ["two nodes", [XFS, FAR, XFS, FAR], "mounted", "freeze"],
  ["two nodes of a shared pool", [COMMON, COMMON_FAR, COMMON], "mounted", "freeze"],
  ["two nodes of a shared pool, raw devices", [COMMON, COMMON_FAR], "raw", "cgroup"],
  ["a shared pool and one of its nodes' own", [COMMON_FAR, XFS, COMMON_FAR], "mounted", "freeze"],
  ["two nodes, btrfs and xfs, raw devices", [XFS, FAR_BTRFS, XFS], "raw", "cgroup"],
  ["xfs, mounted and raw", [XFS, XFS], "mixed", "cgroup+freeze"],
  ["xfs and btrfs, mounted and raw", [XFS, BTRFS, BTRFS, XFS], "mixed", "cgroup+freeze"],
  ["two nodes, mounted and raw", [XFS, XFS, FAR, FAR], "mixed", "cgroup+freeze"],
];

for (const [what, pools, access, method] of sample(CASES, { everyday: 1, full: 7 })) {
  test(`${what}: every group snapshot is one moment of a writer at full speed`, async (t) => {
    covers("KEP-002");
    const cluster = await Cluster.open(t, [...new Set(pools)]);
    const files: string[] = [];
    for (const [index, pool] of pools.entries()) {
      const as = access !== "mixed" ? access : index % 2 === 0 ? "mounted" : "raw";
      files.push(await useVolume(cluster, `v-${index}`, pool.name, { access: as, node: pool.node }));
    }
    const alone = access === "mounted" ? undefined : await controlGroup(t);
    const running = await startWriter(writer.path, files, alone);
    t.after(() => running.stop());
    try {
      for (let round = 0; round < ROUNDS; round++) {
        const group = groupObject(`g-${round}`, [], PATIENT);
        group.spec.members = pools.map(({ name }, index) => ({
          ...{ volume: `v-${index}`, snapshot: `s-${round}-${index}`, pool: name },
        }));
        const { status } = await snapshotAndCheck(cluster, running, group);
        assert.equal(status?.barrier?.method, method);
        const { startTime = "", endTime = "" } = status?.barrier ?? {};
        assert.ok(Date.parse(startTime) <= Date.parse(endTime));
        assert.equal(status?.creationTime, startTime);
      }
      for (const { name, node, type } of new Set(pools)) {
        if (type !== "btrfs") continue;
        assert.deepEqual(await readdir(join(cluster.dir, node, "pools", name, "mnt", "cuts")), []);
      }
    } finally {
      await running.stop();
    }
  });
}

test(
  "a member of a shared pool that nobody has is copied by a node that takes it, and is nobody's afterwards",
  thorough(),
  async (t) => {
    const cluster = await Cluster.open(t, [COMMON, COMMON_FAR]);
    const { store } = cluster;
    const file = await useVolume(cluster, "v-0", "common", { access: "mounted", node: "z" });
    await cluster.volume("v-1", "common");
    const running = await startWriter(writer.path, [file]);
    try {
      const group = groupObject("g-1", ["v-0", "v-1"], { pool: "common", ...PATIENT });
      const acknowledged = running.acknowledged();
      await store.create(GroupSnapshots, group);
      const { status } = await until(store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "ready", JSON.stringify(status));
      const [first, second] = status?.members ?? [];
      assert.equal(first?.nodeID, "z");
      assert.match(second?.nodeID ?? "", /^[az]$/);
      await requirePrefix([cluster.image("s-g-1-0", "common")], acknowledged);
      assert.ok(existsSync(cluster.image("s-g-1-1", "common")));
      await until(
        store,
        Volumes,
        "v-1",
        (v) => v.status?.state === "detached" && (v.spec.nodeID ?? "") === "",
      );
      await running.goesOn();
      await gone(store, GroupSnapshots, "g-1");
      assert.ok(!existsSync(cluster.image("s-g-1-1", "common")));
    } finally {
      await running.stop();
    }
  },
);

test(
  "raw devices of an xfs pool without a control group are refused, and the reason names the volume",
  thorough(),
  async (t) => {
    const cluster = await Cluster.open(t, [XFS]);
    const files = [
      await useVolume(cluster, "v-1", "x", { access: "raw" }),
      await useVolume(cluster, "v-2", "x", { access: "raw" }),
    ];
    const running = await startWriter(writer.path, files);
    try {
      await cluster.store.create(GroupSnapshots, groupObject("g-1", ["v-1", "v-2"], { pool: "x" }));
      const { status } = await until(cluster.store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "failed");
      assert.equal(status?.error?.code, "FAILED_PRECONDITION");
      assert.match(status?.error?.message ?? "", /volume v-1 is a raw device .*control group/);
      assert.deepEqual((await cluster.store.list(Snapshots)).items, []);
      await running.goesOn();
    } finally {
      await running.stop();
    }
  },
);

test(
  "a member that is frozen by somebody else: nothing is made, the reason names it, the others go on",
  thorough(),
  async (t) => {
    const cluster = await Cluster.open(t, [XFS]);
    const [file = "", mounted = ""] = [
      await useVolume(cluster, "v-1", "x", { access: "mounted" }),
      await useVolume(cluster, "v-2", "x", { access: "mounted" }),
    ];
    const running = await startWriter(writer.path, [file]);
    const mount = join(mounted, "..");
    await cluster.host.exec.run("fsfreeze", ["--freeze", mount]);
    try {
      await cluster.store.create(GroupSnapshots, groupObject("g-1", ["v-1", "v-2"], { pool: "x" }));
      const { status } = await until(cluster.store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "failed");
      assert.match(
        status?.error?.message ?? "",
        /volume v-2 could not be kept still: .*another program has frozen it/,
      );
      await running.goesOn();
      assert.deepEqual((await cluster.store.list(Snapshots)).items, []);
      const images = await readdir(join(cluster.image("v-1", "x"), ".."));
      assert.deepEqual(images.sort(), ["v-1.img", "v-2.img"]);
    } finally {
      await running.stop();
      await cluster.host.exec.run("fsfreeze", ["--unfreeze", mount]);
    }
  },
);

test(
  "a writer of raw devices that somebody else has frozen stays frozen, and the reason says so",
  thorough(),
  async (t) => {
    covers("KEP-002");
    const cluster = await Cluster.open(t, [XFS]);
    const files = [
      await useVolume(cluster, "v-1", "x", { access: "raw" }),
      await useVolume(cluster, "v-2", "x", { access: "raw" }),
    ];
    const group = await controlGroup(t);
    const running = await startWriter(writer.path, files, group);
    const freezeFile = join(group, "cgroup.freeze");
    try {
      await writeFile(freezeFile, "1");
      await cluster.store.create(GroupSnapshots, groupObject("g-1", ["v-1", "v-2"], { pool: "x" }));
      const { status } = await until(cluster.store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "failed");
      assert.match(status?.error?.message ?? "", /volume v-1, v-2 could not be kept still: .*it is frozen/);
      assert.match(status?.error?.message ?? "", /another program has frozen it: thaw it first/);
      assert.equal(await readFile(freezeFile, "utf8"), "1\n");
      assert.deepEqual((await cluster.store.list(Snapshots)).items, []);
      await writeFile(freezeFile, "0");
      await running.goesOn();
    } finally {
      await writeFile(freezeFile, "0");
      await running.stop();
    }
  },
);

test(
  "a node that does not come to a stop: the others go on by the deadline, the reason names its volume",
  everyday(),
  async (t) => {
    const cluster = await Cluster.open(t, [XFS]);
    const { store } = cluster;
    const file = await useVolume(cluster, "v-1", "x", { access: "mounted" });
    await playNode(store, "z", "far", "v-2");
    const running = await startWriter(writer.path, [file]);
    try {
      const group = groupObject("g-1", [], { deadlineSeconds: 5 });
      group.spec.members = [
        { volume: "v-1", snapshot: "s-1", pool: "x" },
        { volume: "v-2", snapshot: "s-2", pool: "far" },
      ];
      await store.create(GroupSnapshots, group);
      await playPrepared(store, { node: "z", volume: "v-2", snapshot: "s-2", group: "g-1" });
      const failing = (g: GroupSnapshot) => g.status?.state === "failing" || g.status?.state === "failed";
      const { status } = await until(store, GroupSnapshots, "g-1", failing);
      assert.equal(status?.error?.code, "UNAVAILABLE");
      assert.match(status?.error?.message ?? "", /volume v-2 on node z could not be kept still/);
      await running.goesOn();
      // What its agent would do with the record of an image that was never made.
      await until(store, Snapshots, "s-2", (s) => s.metadata.deletionTimestamp !== undefined);
      await removeFinalizer(store, { resource: Snapshots, key: { name: "s-2" } }, ENGINE_FINALIZER);
      await until(store, GroupSnapshots, "g-1", (g) => g.status?.state === "failed");
      assert.deepEqual((await store.list(Snapshots)).items, []);
      assert.equal(existsSync(cluster.image("s-1", "x")), false);
    } finally {
      await running.stop();
    }
  },
);

test(
  "a node whose agent is away before the barrier: nobody is stopped, and it is copied when the agent is back",
  thorough(),
  async (t) => {
    const cluster = await Cluster.open(t, [XFS, FAR]);
    const files = [
      await useVolume(cluster, "v-1", "x", { access: "mounted" }),
      await useVolume(cluster, "v-2", "far", { access: "mounted" }),
    ];
    await cluster.stopNode("z");
    const running = await startWriter(writer.path, files);
    try {
      const group = groupObject("g-1", [], PATIENT);
      group.spec.members = [
        { volume: "v-1", snapshot: "s-1", pool: "x" },
        { volume: "v-2", snapshot: "s-2", pool: "far" },
      ];
      await cluster.store.create(GroupSnapshots, group);
      await until(cluster.store, GroupSnapshots, "g-1", ({ status }) => status?.nodes?.["a"]?.attempt === 1);
      await running.goesOn();
      const acknowledged = running.acknowledged();
      await cluster.startNode("z");
      const { status } = await until(cluster.store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "ready", JSON.stringify(status));
      await requirePrefix([cluster.image("s-1", "x"), cluster.image("s-2", "far")], acknowledged);
    } finally {
      await running.stop();
    }
  },
);
