import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { test } from "node:test";
import { Events } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { Pools, writesFailMessage } from "../../api/pool.ts";
import { Snapshots } from "../../api/snapshot.ts";
import { Bench, POOL, until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";

const condition = (volume: {
  status?: { conditions?: { type: string; status: string; message: string }[] };
}) => volume.status?.conditions?.find(({ type }) => type === "WritesFail");

for (const type of ["xfs", "btrfs"] as const) {
  test(
    `a full ${type} pool says of itself and of each volume that writes fail, and since when they did`,
    thorough(),
    async (t) => {
      const bench = await Bench.open(t, type, { poolSize: 512 * MIB });
      const write = (device: string | undefined) =>
        spawn("dd", [
          "if=/dev/urandom",
          `of=${device}`,
          "bs=1M",
          "count=240",
          "conv=notrunc",
          "oflag=direct",
        ]);
      for (const name of ["v-p-1", "v-p-2"]) {
        await bench.createVolume(name, { size: 50 * MIB, volumeMode: "Block" });
        await bench.volume(name, "detached");
      }
      await bench.createVolume("v-p-3", { size: 240 * MIB, volumeMode: "Block" });
      await bench.volume("v-p-3", "detached");
      await bench.place("v-p-3", "node-1");
      await bench.place("v-p-1", "node-1");
      await bench.volume("v-p-1", "attached");
      const { status } = await bench.volume("v-p-3", "attached");
      assert.deepEqual(await once(write(status?.device), "exit"), [0, null]);
      await bench.createSnapshot("s-p-1", "v-p-3");
      await until(bench.store, Snapshots, "s-p-1", (snapshot) => snapshot.status?.readyToUse === true);

      // Every byte is in the snapshot as well, so that this takes as much room once more, which is not there.
      const [code] = await once(write(status?.device), "exit");
      assert.notEqual(code, 0);
      const full = await until(bench.store, Pools, POOL, (pool) => writesFailMessage(pool) !== undefined);
      assert.match(writesFailMessage(full) ?? "", /writes into thin volumes fail.*without fsync is lost/);
      for (const name of ["v-p-1", "v-p-3"])
        await bench.volumeWhere(name, (volume) => condition(volume)?.status === "True");
      assert.equal(condition(await bench.volume("v-p-2", "detached")), undefined, "nobody writes into it");

      await bench.store.delete(Snapshots, { name: "s-p-1" });
      await until(bench.store, Pools, POOL, (pool) => writesFailMessage(pool) === undefined);
      const after = await bench.volumeWhere("v-p-3", (volume) => condition(volume)?.status === "False");
      assert.match(condition(after)?.message ?? "", /from \S+ on writes failed.*may be lost/);
      await eventually("an event of each change", async () => {
        const events = (await bench.store.list(Events)).items;
        const reasons = events
          .filter(({ involvedObject }) => involvedObject?.name === "v-p-3")
          .map(({ reason }) => reason);
        return reasons.includes("WritesFail") && reasons.includes("WritesHaveFailed");
      });
    },
  );
}
