import assert from "node:assert/strict";
import { spawn } from "node:child_process";
import { once } from "node:events";
import { mkdir, rm, statfs } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { Events } from "@mooring/store";
import { eventually, thorough } from "@mooring/store/testing";
import { Pools } from "../../api/pool.ts";
import { Bench, POOL, until } from "../../testing/agent.ts";
import { MIB, sparse } from "../../testing/scratch.ts";

/** The state folder is on a disk of its own, which is smaller than the pool. */
async function onSmallDisk({ dir, stateDir, host }: Bench): Promise<void> {
  const image = await sparse(join(dir, "disk.img"), 400 * MIB);
  await host.exec.run("mkfs.ext4", ["-q", "-m", "0", image]);
  await mkdir(stateDir);
  await host.exec.run("mount", ["-o", "loop", image, stateDir]);
}

async function fillDisk({ stateDir, host }: Bench): Promise<void> {
  const { bavail, bsize } = await statfs(stateDir);
  const left = 4 * MIB;
  await host.exec.run("fallocate", ["-l", String(bavail * bsize - left), join(stateDir, "filler")]);
}

/** Until the pool's own file system cannot write what it needs for itself. */
async function breakPool(bench: Bench, device: string): Promise<void> {
  const { host, stateDir, type } = bench;
  // XFS has its log already, and goes on where the disk below is full.
  if (type === "xfs") {
    await host.exec.run("xfs_io", ["-x", "-c", "shutdown", join(stateDir, "pools", POOL, "mnt")]);
    return;
  }
  await fillDisk(bench);
  await eventually("the pool's file system to give up", async () => {
    const args = ["if=/dev/urandom", `of=${device}`, "bs=1M", "count=64", "oflag=direct", "conv=fsync"];
    await host.exec.try("dd", args);
    await host.exec.try("sync", ["--file-system", join(stateDir, "pools", POOL, "mnt")]);
    const { exitCode } = await host.exec.try("touch", [join(stateDir, "pools", POOL, "mnt", "probe")]);
    return exitCode !== 0;
  });
}

/** Claims the device as a file system that is mounted does; the function releases it. */
async function claim(t: TestContext, device: string): Promise<() => Promise<void>> {
  const script = '$| = 1; sysopen(my $file, $ARGV[0], 0200) or die $!; print "claimed"; sleep';
  const child = spawn("perl", ["-e", script, device]);
  t.after(() => child.kill());
  await once(child.stdout, "data");
  return async () => {
    const ended = once(child, "exit");
    child.kill();
    await ended;
  };
}

for (const type of ["xfs", "btrfs"] as const)
  test(
    `a ${type} pool whose file system has given up is not ready, says why, and is mounted anew once its volumes are closed`,
    thorough(),
    async (t) => {
      const bench = await Bench.open(t, type, { poolSize: 512 * MIB, prepare: onSmallDisk });
      const { store, stateDir } = bench;
      await bench.createVolume("v-p-1", { size: 100 * MIB, volumeMode: "Block" });
      await bench.volume("v-p-1", "detached");
      const broken = await bench.attached("v-p-1");
      const release = await claim(t, broken);
      await breakPool(bench, broken);

      const ready = (pool: {
        status?: { conditions?: { type: string; status: string; message: string }[] };
      }) => pool.status?.conditions?.find((each) => each.type === "Ready");
      const failed = await until(store, Pools, POOL, (pool) => pool.status?.ready === false);
      assert.match(
        ready(failed)?.message ?? "",
        new RegExp(`the ${type} file system at .*every write to its volumes fails`),
      );
      assert.match(ready(failed)?.message ?? "", /end the pods that use the one volume open in it/);

      await rm(join(stateDir, "filler"), { force: true });
      // Still wanted here, but by nobody who uses it: it is closed, and opened again.
      await release();
      await until(store, Pools, POOL, (pool) => pool.status?.ready === true);
      await eventually("an event of it", async () => {
        const { items } = await store.list(Events);
        return items.some(({ reason }) => reason === "PoolMounted");
      });

      await bench.detached("v-p-1");
      const device = await bench.attached("v-p-1");
      const args = ["if=/dev/urandom", `of=${device}`, "bs=1M", "count=16", "oflag=direct", "conv=fsync"];
      await bench.host.exec.run("dd", args);
      await bench.detached("v-p-1");
    },
  );

test(
  "a pool that has failed and is mounted in another namespace says by whom, and is mounted anew when they end",
  thorough(),
  async (t) => {
    const bench = await Bench.open(t, "xfs", { poolSize: 512 * MIB });
    const { store } = bench;
    const script = "echo has copies of all mounts; exec sleep infinity";
    const other = spawn("unshare", ["--mount", "--propagation", "private", "sh", "-c", script]);
    t.after(() => other.kill());
    await once(other.stdout, "data");
    await breakPool(bench, "");
    await until(store, Pools, POOL, ({ status }) =>
      (status?.conditions ?? []).some(({ message }) =>
        message.includes(`process ${other.pid} (sleep) has it in another mount namespace`),
      ),
    );

    const ended = once(other, "exit");
    other.kill();
    await ended;
    await until(store, Pools, POOL, ({ status }) => status?.ready === true);
  },
);
