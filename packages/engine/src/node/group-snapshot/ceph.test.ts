import assert from "node:assert/strict";
import { join } from "node:path";
import { after, test } from "node:test";
import { bundleProgram, cephOfFile, withCeph } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import { until } from "../../testing/agent.ts";
import { Cluster, type ClusterPool } from "../../testing/cluster.ts";
import { requirePrefix, startWriter } from "./testing/ordered-blocks.ts";
import { gone, groupObject } from "./testing/story.ts";
import { type Access, controlGroup, useVolume } from "./testing/use-volume.ts";

const writer = await bundleProgram(new URL("./testing/ordered-writer.ts", import.meta.url));
after(writer.remove);
const withCluster = await withCeph();
const cephCluster = cephOfFile(after);

const ROUNDS = 3;
const XFS: ClusterPool = { name: "x", type: "xfs", node: "a" };
const BTRFS: ClusterPool = { name: "b", type: "btrfs", node: "a" };
const FAR: ClusterPool = { name: "far", type: "xfs", node: "z" };
/** A barrier that is late fails for good, and how fast one is on a busy machine is not what is asked here. */
const PATIENT = { deadlineSeconds: 60 };
const ended = (group: GroupSnapshot): boolean => ["ready", "failed"].includes(group.status?.state ?? "");

const CASES: readonly [string, Access, string][] = [
  ["mounted", "mounted", "freeze"],
  ["raw devices of a control group", "raw", "cgroup"],
];

for (const [what, access, method] of CASES)
  test(
    `pools of Ceph, XFS and btrfs, two nodes, ${what}: a group snapshot is one moment`,
    withCluster,
    async (t) => {
      const ceph = await cephCluster();
      const rbd = await ceph.rbdPool();
      const { pool, namespace } = rbd.spec;
      const CEPH: ClusterPool = { name: "c", type: "rbd", node: "a", rbd };
      const pools = [CEPH, XFS, CEPH, BTRFS, FAR];
      const cluster = await Cluster.open(t, [...new Set(pools)]);
      const files: string[] = [];
      for (const [index, { name, node }] of pools.entries())
        files.push(await useVolume(cluster, `v-${index}`, name, { access, node }));
      const running = await startWriter(
        writer.path,
        files,
        access === "raw" ? await controlGroup(t) : undefined,
      );
      /** As a file, whatever pool it is in. */
      const image = async (id: string, { name, type }: ClusterPool): Promise<string> => {
        if (type !== "rbd") return cluster.image(id, name);
        const file = join(cluster.dir, `${id}.raw`);
        await ceph.admin("rbd", "--pool", pool, "--namespace", namespace, "export", `mooring.${id}`, file);
        return file;
      };
      try {
        for (let round = 0; round < ROUNDS; round++) {
          const group = groupObject(`g-${round}`, [], PATIENT);
          group.spec.members = pools.map(({ name }, index) => ({
            ...{ volume: `v-${index}`, snapshot: `s-${round}-${index}`, pool: name },
          }));
          const acknowledged = running.acknowledged();
          await cluster.store.create(GroupSnapshots, group);
          const { status } = await until(cluster.store, GroupSnapshots, `g-${round}`, ended);
          assert.equal(status?.state, "ready", JSON.stringify(status));
          assert.equal(status.barrier?.method, method);
          await running.goesOn();
          const made = await Promise.all(pools.map((each, index) => image(`s-${round}-${index}`, each)));
          await requirePrefix(made, acknowledged);
          await gone(cluster.store, GroupSnapshots, `g-${round}`);
        }
      } finally {
        await running.stop();
      }
    },
  );
