import assert from "node:assert/strict";
import { spawn, spawnSync } from "node:child_process";
import { once } from "node:events";
import { existsSync } from "node:fs";
import { readdir, readFile, statfs, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { eventually, sample } from "@mooring/store/testing";
import { createHost } from "../../host/create-host.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import type { PoolBackend } from "../backend.ts";
import { createPool } from "../create-pool.ts";
import { LocalMedium } from "../local-medium.ts";
import { PoolKeeper } from "./keeper.ts";
import { keeperLevels } from "./levels.ts";

const host = createHost();
const POOL_MIB = 512;

interface Kept {
  folder: string;
  mount: string;
  pool: PoolBackend;
  keeper: PoolKeeper;
}

async function kept(t: TestContext, type: "xfs" | "btrfs"): Promise<Kept> {
  const dir = await scratch(t, host);
  const folder = join(dir, "pool");
  const pool = createPool(type, { host, path: folder, size: POOL_MIB * MIB, overcommit: 10 });
  await pool.open();
  const keeper = new PoolKeeper(host, folder, type);
  const mount = join(folder, "mnt");
  t.after(async () => {
    await keeper.stop();
    await host.exec.try("fsfreeze", ["--unfreeze", mount]);
  });
  await keeper.ensure(keeperLevels((await pool.usage()).totalBytes));
  return { folder, mount, pool, keeper };
}

for (const type of sample(["xfs", "btrfs"] as const, { everyday: 1 })) {
  test(`a ${type} pool freezes a bare process on a raw device, and lets it go on when there is room`, async (t) => {
    const { folder, pool, keeper, mount } = await kept(t, type);
    const image = await pool.create("v-raw", 1024 * MIB);
    const other = await pool.create("v-other", 200 * MIB);
    await host.exec.run("dd", ["if=/dev/zero", `of=${other.path}`, "bs=1M", "count=128", "oflag=direct"]);
    const device = (await host.loops.attach(image.path)).path;
    const writer = spawn("dd", ["if=/dev/urandom", `of=${device}`, "bs=1M", "count=420", "oflag=direct"]);
    const ended = once(writer, "exit");
    await eventually("the writers to be frozen", async () => (await keeper.state()) === "held");
    assert.equal(writer.exitCode, null);
    await keeper.window(() => pool.remove("v-other"));
    await eventually(
      "the writer to be frozen again, or to go on",
      async () => (await keeper.state()) !== "window",
    );
    await truncate(join(folder, "pool.img"), 1024 * MIB);
    const below = await host.loops.find(join(folder, "pool.img"));
    await host.loops.refresh(below?.path ?? "");
    await keeper.window(async () => {
      if (type === "xfs") await host.exec.run("xfs_growfs", ["-d", mount]);
      else await host.exec.run("btrfs", ["filesystem", "resize", "max", mount]);
    });
    assert.deepEqual(await ended, [0, null]);
  });
}

test("more volumes are removed at once from a frozen pool than this process has threads for files", async (t) => {
  const { pool, keeper, mount } = await kept(t, "xfs");
  const ids = Array.from({ length: 8 }, (_, index) => `v-${index}`);
  for (const id of ids) await pool.create(id, MIB);
  await fill(mount, 32 * MIB);
  await eventually("the writers to be frozen", async () => (await keeper.state()) === "held");
  await unlessFrozen(mount, () => Promise.all(ids.map((id) => keeper.window(() => pool.remove(id)))));
});

test("a frozen btrfs pool in which nothing is left is opened by the next agent", async (t) => {
  const { folder, keeper, mount } = await kept(t, "btrfs");
  const { bavail, bsize } = await statfs(mount);
  spawn("fallocate", ["--length", String(bavail * bsize - MIB), join(mount, "filler")]);
  await eventually("the writers to be frozen", () => keeper.isSuspended());
  // Work for which room is asked lets the writers go on, too.
  await keeper.window(() => eventually("nothing to be left", async () => (await keeper.state()) === "stuck"));
  // What the next agent does to open it, once it has the pool's lock.
  const next = new LocalMedium("btrfs", { host, path: folder, size: POOL_MIB * MIB });
  await unlessFrozen(mount, () => keeper.window(() => next.open(), { mayBeStuck: true }));
  assert.equal(await keeper.isSuspended(), true);
});

/** Leaves so many bytes. */
async function fill(mount: string, left: number): Promise<void> {
  const { bavail, bsize } = await statfs(mount);
  await host.exec.run("fallocate", ["--length", String(bavail * bsize - left), join(mount, "filler")]);
}

/** Work that does not end has kept this process's threads: without them nothing else of it would go on. */
async function unlessFrozen(mount: string, work: () => Promise<unknown>): Promise<void> {
  let ended = false;
  const end = work().finally(() => {
    ended = true;
  });
  end.catch(() => {});
  try {
    await eventually("the work to end", () => ended);
  } catch (error) {
    spawnSync("fsfreeze", ["--unfreeze", mount]);
    throw error;
  }
  await end;
}

test("an agent that is killed while its work waits in a frozen pool ends, and the next one has the pool", async (t) => {
  const { folder, keeper, mount } = await kept(t, "xfs");
  const removed = join(mount, "removed");
  await writeFile(removed, "");
  await fill(mount, 32 * MIB);
  await eventually("the writers to be frozen", async () => (await keeper.state()) === "held");
  const program = `setInterval(() => {}, 1000); require("node:fs").unlink(${JSON.stringify(removed)}, () => {})`;
  const agent = spawn(process.execPath, ["-e", program], { stdio: "ignore" });
  await eventually("its work to wait in the kernel", () => waitsInKernel(agent.pid));
  await writeFile(join(folder, "lock"), `${agent.pid}\n`);
  assert.equal(agent.kill("SIGKILL"), true);
  await eventually("the agent to end", async () => agent.signalCode === "SIGKILL");
  assert.equal(existsSync(removed), false);
  await eventually("the writers to be frozen again", async () => (await keeper.state()) === "held");
});

async function waitsInKernel(pid: number | undefined): Promise<boolean> {
  const tasks = await readdir(`/proc/${pid}/task`);
  const stats = await Promise.all(tasks.map((task) => readFile(`/proc/${pid}/task/${task}/stat`, "utf8")));
  return stats.some((text) => /\) D /.test(text));
}
