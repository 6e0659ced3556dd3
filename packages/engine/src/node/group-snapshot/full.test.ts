import assert from "node:assert/strict";
import { rm, statfs } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, test } from "node:test";
import { bundleProgram, sample, thorough } from "@mooring/store/testing";
import { type GroupSnapshot, GroupSnapshots } from "../../api/group-snapshot.ts";
import type { PoolType } from "../../api/pool.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { until } from "../../testing/agent.ts";
import { Cluster } from "../../testing/cluster.ts";
import { GIB, MIB } from "../../testing/scratch.ts";
import { requirePrefix, startWriter } from "./testing/ordered-blocks.ts";
import { gone, groupObject } from "./testing/story.ts";
import { useVolume } from "./testing/use-volume.ts";

const writer = await bundleProgram(new URL("./testing/ordered-writer.ts", import.meta.url));
after(writer.remove);

const LEFT = 30 * MIB;
const VOLUMES = ["v-1", "v-2"];
const ended = ({ status }: GroupSnapshot): boolean => ["ready", "failed"].includes(status?.state ?? "");

for (const type of sample(["xfs", "btrfs"] as PoolType[], { everyday: 1 })) {
  test(`${type}: in a pool without space a group fails whole and says so, the writers go on, and it is made when there is space`, async (t) => {
    const cluster = await Cluster.open(t, [{ name: "p", type, node: "a", size: GIB }]);
    const { store, host } = cluster;
    const files: string[] = [];
    for (const name of VOLUMES) files.push(await useVolume(cluster, name, "p", { access: "mounted" }));
    const running = await startWriter(writer.path, files);
    try {
      const filler = join(dirname(cluster.image("v-1", "p")), "..", "filler");
      const { bavail, bsize } = await statfs(dirname(filler));
      // Below the reserve of a twentieth. Quite full, a btrfs pool fails its writers before anybody asks for a group.
      await host.exec.run("fallocate", ["--length", String(bavail * bsize - LEFT), filler]);
      await host.exec.run("sync", ["--file-system", dirname(filler)]);
      await store.create(GroupSnapshots, groupObject("g-1", VOLUMES, { pool: "p" }));
      const { status } = await until(store, GroupSnapshots, "g-1", ended);
      assert.equal(status?.state, "failed");
      assert.equal(status?.error?.code, "RESOURCE_EXHAUSTED");
      assert.match(status?.error?.message ?? "", /[KMG]iB free/);
      assert.deepEqual((await store.list(Snapshots)).items, []);
      await rm(filler);
      await host.exec.run("sync", ["--file-system", dirname(filler)]);
      for (let step = 0; step < 20; step++) await running.goesOn();
      await gone(store, GroupSnapshots, "g-1");
      const acknowledged = running.acknowledged();
      await store.create(GroupSnapshots, groupObject("g-2", VOLUMES, { pool: "p", deadlineSeconds: 60 }));
      const again = await until(store, GroupSnapshots, "g-2", ended);
      assert.equal(again.status?.state, "ready", JSON.stringify(again.status?.error));
      const images = again.spec.members.map(({ snapshot }) => cluster.image(snapshot, "p"));
      await requirePrefix(images, acknowledged);
    } finally {
      await running.stop();
    }
  });
}

test("a member whose file system is full is copied like any other", thorough(), async (t) => {
  const cluster = await Cluster.open(t, [{ name: "p", type: "xfs", node: "a" }]);
  const { store, host } = cluster;
  const files: string[] = [];
  for (const name of VOLUMES) files.push(await useVolume(cluster, name, "p", { access: "mounted" }));
  const filler = join(dirname(files[0] ?? ""), "filler");
  const { exitCode } = await host.exec.try("dd", ["if=/dev/zero", `of=${filler}`, "bs=1M", "count=200"]);
  assert.notEqual(exitCode, 0, "it is full");
  const running = await startWriter(writer.path, files);
  try {
    const acknowledged = running.acknowledged();
    await store.create(GroupSnapshots, groupObject("g-1", VOLUMES, { pool: "p", deadlineSeconds: 60 }));
    const { status, spec } = await until(store, GroupSnapshots, "g-1", ended);
    assert.equal(status?.state, "ready", JSON.stringify(status?.error));
    await requirePrefix(
      spec.members.map(({ snapshot }) => cluster.image(snapshot, "p")),
      acknowledged,
    );
    await running.goesOn();
  } finally {
    await running.stop();
  }
});
