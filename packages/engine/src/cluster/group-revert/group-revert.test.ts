import assert from "node:assert/strict";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { Pods } from "@mooring/store";
import { everyday, thorough } from "@mooring/store/testing";
import { VolumeGroupReverts } from "../../api/group-revert.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Volumes } from "../../api/volume.ts";
import { Bench } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { endWorkload, idle, mountFor } from "../services/testing/filesystem.ts";
import { createRevert, groupSnapshot, NAMESPACE, revertIn } from "./testing/group.ts";

const VOLUMES = ["v-p-1", "v-p-2"];
const GROUP = { "v-p-1": "s-p-1", "v-p-2": "s-p-2" };

/** Two mounted volumes with "old" in their snapshots, and "new" now. */
async function changed(bench: Bench): Promise<void> {
  for (const [volume, snapshot] of Object.entries(GROUP)) {
    await bench.createVolume(volume);
    await bench.volume(volume, "detached");
    const file = join(await mountFor(bench, volume), "f");
    await writeFile(file, "old", { flush: true });
    await bench.createSnapshot(snapshot, volume);
    await bench.snapshot(snapshot);
    await writeFile(file, "new", { flush: true });
  }
}

async function contents(bench: Bench): Promise<string[]> {
  const found: string[] = [];
  for (const volume of VOLUMES) {
    found.push(await readFile(join(await mountFor(bench, volume), "f"), "utf8"));
    await endWorkload(bench, volume);
  }
  return found;
}

test(
  "workloads keep a group until the last has left; then all members go back, and who waits sees only old bytes",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true, reverts: true });
    const { store } = bench;
    await changed(bench);
    await groupSnapshot(store, "g", GROUP);
    await store.create(Pods, {
      ...{ apiVersion: "v1", kind: "Pod", metadata: { namespace: NAMESPACE, name: "db-0" } },
      spec: { containers: [], volumes: [{ name: "d", persistentVolumeClaim: { claimName: "c-v-p-2" } }] },
    });
    await endWorkload(bench, "v-p-1");
    await createRevert(store, "r", "g");
    const waiting = await revertIn(store, "r", "Holding", (r) => r.status?.volumes?.held === 1);
    assert.match(
      waiting.status?.message ?? "",
      /v-p-2 \(claim c-v-p-2\) held by pod db-0, ticket csi-w on node node-1/,
    );
    const pod = await store.get(Pods, { namespace: NAMESPACE, name: "db-0" });
    const { uid: _, resourceVersion: __, ...metadata } = pod.metadata;
    await store.create(Pods, { ...pod, metadata: { ...metadata, name: "db-1" } });
    await revertIn(store, "r", "Holding", ({ status }) => /pod db-0, pod db-1/.test(status?.message ?? ""));
    assert.equal(await readFile(join(bench.dir, "mount-v-p-2", "f"), "utf8"), "new");
    assert.equal(
      (await store.get(Volumes, { name: "v-p-1" })).status?.restore,
      undefined,
      "nothing is changed yet",
    );
    await endWorkload(bench, "v-p-2");
    const done = await revertIn(store, "r", "Complete");
    const conditions = done.status?.conditions
      ?.filter(({ status }) => status === "True")
      .map(({ type }) => type);
    assert.deepEqual(conditions, ["Committed", "Complete"]);
    assert.deepEqual(await contents(bench), ["old", "old"]);
    for (const volume of VOLUMES) await idle(bench, volume);
  },
);

test(
  "a revert that is deleted before it is decided releases its volumes, and nothing has changed",
  everyday(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true, reverts: true });
    const { store } = bench;
    await changed(bench);
    await groupSnapshot(store, "g", GROUP);
    await endWorkload(bench, "v-p-1");
    const { metadata } = await createRevert(store, "r", "g");
    await revertIn(store, "r", "Holding", (r) => r.status?.volumes?.held === 1);
    await store.delete(VolumeGroupReverts, { namespace: NAMESPACE, name: metadata.name });
    await idle(bench, "v-p-1");
    await endWorkload(bench, "v-p-2");
    assert.deepEqual(await contents(bench), ["new", "new"]);
  },
);

test(
  "of two reverts one waits for the other; volumes that have grown keep their size",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { tickets: true, reverts: true });
    const { store } = bench;
    await changed(bench);
    await groupSnapshot(store, "g", GROUP);
    await groupSnapshot(store, "h", { "v-p-2": "s-p-2" });
    await endWorkload(bench, "v-p-1");
    await createRevert(store, "r", "g");
    await revertIn(store, "r", "Holding");
    await createRevert(store, "second", "h");
    const second = await revertIn(store, "second", "Waiting", (r) => r.status?.members !== undefined);
    await revertIn(store, "second", "Waiting", (r) =>
      /revert shop\/r of volume v-p-2/.test(r.status?.message ?? ""),
    );
    assert.equal(second.status?.volumes?.total, 1);
    await bench.resize("v-p-1", 128 * MIB);
    await endWorkload(bench, "v-p-2");
    await revertIn(store, "r", "Complete");
    await revertIn(store, "second", "Complete");
    await bench.volume("v-p-1", "detached", (v) => v.status?.expansion === undefined);
    const { blocks, bsize } = await statfs(await mountFor(bench, "v-p-1"));
    assert.ok(blocks * bsize > 100 * MIB);
    await endWorkload(bench, "v-p-1");
    assert.deepEqual(await contents(bench), ["old", "old"]);
  },
);

test("what cannot end well is refused with its reason, and nothing is kept", thorough(), async (t) => {
  const bench = await Bench.open(t, "xfs", { tickets: true, reverts: true });
  const { store } = bench;
  await changed(bench);
  await groupSnapshot(store, "foreign", { "v-p-1": "s-p-1" }, { driver: "other.example.com" });
  await groupSnapshot(store, "lost", { "v-p-1": "s-p-1", "v-p-2": "s-p-9" });
  await groupSnapshot(store, "swapped", { "v-p-1": "s-p-2", "v-p-2": "s-p-1" });
  await groupSnapshot(store, "theirs", { "v-p-3": "s-p-3" }, { claimNamespace: "bank" });
  const expected: [string, RegExp][] = [
    ["foreign", /is of driver other\.example\.com, which cannot put volumes back in place/],
    ["lost", /snapshot s-p-9 of volume v-p-2 \(claim c-v-p-2\) is gone/],
    ["swapped", /snapshot s-p-2 is not one of volume v-p-1/],
    ["theirs", /volume v-p-3 has no claim in namespace shop/],
  ];
  for (const [from, message] of expected) {
    await createRevert(store, `to-${from}`, from);
    const { status } = await revertIn(store, `to-${from}`, "Failed");
    assert.match(status?.message ?? "", message);
  }
  for (const name of VOLUMES) {
    assert.equal((await store.get(Volumes, { name })).spec.restoreFrom, undefined);
    await endWorkload(bench, name);
  }
  assert.deepEqual(await contents(bench), ["new", "new"]);
  for (const snapshot of Object.values(GROUP)) await bench.deleted(Snapshots, snapshot);
});
