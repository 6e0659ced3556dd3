import assert from "node:assert/strict";
import { chmod, open, readFile, stat } from "node:fs/promises";
import { dirname, join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { apiVersionOf } from "@mooring/store";
import { type CephCluster, cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { type Pool, Pools } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";
import { createHost } from "../../host/create-host.ts";
import { allocatedRanges, changedRanges, type Range } from "../../host/filesystem/ranges.ts";
import { contents } from "../../testing/image-contents.ts";
import { GIB, MIB, scratch } from "../../testing/scratch.ts";
import type { PoolBackend } from "../backend.ts";
import { createPool, type PoolOptions } from "../create-pool.ts";
import { imageMap } from "../image-map.ts";
import type { RbdPlace } from "./place.ts";

const host = createHost({ server: true });
const withCluster = await withCeph();
const cluster = cephOfFile(after);

/** A pool of its own in the cluster. */
async function options(): Promise<Required<Pick<PoolOptions, "rbd">>> {
  const ceph = await cluster();
  const { conf, user, keyring, pool } = ceph;
  const namespace = await ceph.namespace();
  return { rbd: { nodeID: "node-1", place: { conf, user, keyring, pool, namespace } } };
}

const { write, read, sizeOf } = contents(true);

interface Opened {
  ceph: CephCluster;
  pool: PoolBackend;
  place: RbdPlace;
  path: string;
  /** Runs `rbd` as the administrator; what it prints. */
  rbd(...args: string[]): Promise<string>;
}

async function opened(t: TestContext, more: Partial<RbdPlace> = {}): Promise<Opened> {
  const path = join(await scratch(t, host), "pools", "p");
  const ceph = await cluster();
  const { rbd } = await options();
  const place = { ...rbd.place, ...more };
  const pool = createPool("rbd", { host, path, rbd: { ...rbd, place } });
  t.after(() => pool.close().catch(() => {}));
  await pool.open();
  const where = ["--pool", place.pool, "--namespace", place.namespace ?? ""];
  return { ceph, pool, place, path, rbd: (...args) => ceph.admin("rbd", ...where, ...args) };
}

const names = async ({ rbd }: Opened): Promise<string[]> =>
  (await rbd("ls"))
    .split("\n")
    .filter((name) => name !== "")
    .sort();

const refusal = (code: string, message: RegExp) => (error: unknown) =>
  error instanceof EngineError && error.code === code && message.test(error.message);

test("rbd: a volume is reverted in place, and copies of what it was stay whole", withCluster, async (t) => {
  const at = await opened(t);
  const { pool } = at;
  const volume = await pool.create("v-p-1", 10 * MIB);
  await write(pool, volume, "first.");
  await pool.clone("v-p-1", "s-p-1", 10 * MIB);
  await write(pool, volume, "second");
  await pool.clone("v-p-1", "s-p-2", 10 * MIB);
  const device = await pool.devices.attach(volume);
  await assert.rejects(pool.replace("s-p-1", "v-p-1", MIB), refusal("FAILED_PRECONDITION", /is attached as/));
  await pool.devices.detach(device);
  const reverted = await pool.replace("s-p-1", "v-p-1", MIB);
  assert.equal(await read(pool, reverted, 6), "first.");
  const second = await pool.clone("s-p-2", "v-p-2", 10 * MIB);
  assert.equal(await read(pool, second, 6), "second");
  for (const id of ["s-p-1", "s-p-2", "v-p-2", "v-p-1"]) await pool.remove(id);
  assert.deepEqual(await names(at), []);
  assert.equal((await at.rbd("trash", "ls", "--all")).trim(), "", "nothing is kept that nobody needs");
});

test("rbd: an image grows while it is in use", withCluster, async (t) => {
  const { pool } = await opened(t);
  const volume = await pool.create("v-p-1", 10 * MIB);
  const device = await pool.devices.attach(volume);
  await pool.grow("v-p-1", 64 * MIB);
  await host.loops.refresh(device.path);
  assert.equal((await host.loops.at(device.path))?.sizeBytes, 64 * MIB);
  await pool.devices.detach(device);
  assert.equal(await sizeOf(pool, volume), 64 * MIB);
});

test("rbd: what is discarded is the cluster's again", withCluster, async (t) => {
  const at = await opened(t);
  const volume = await at.pool.create("v-p-1", 64 * MIB);
  const device = await at.pool.devices.attach(volume);
  const { path } = device;
  const used = async () =>
    JSON.parse(await at.rbd("diff", "--format", "json", "mooring.v-p-1")).length as number;
  await host.exec.run("dd", ["if=/dev/urandom", `of=${path}`, "bs=1M", "count=32", "oflag=direct"]);
  assert.ok((await used()) >= 8);
  await host.exec.run("blkdiscard", [path]);
  assert.equal(await used(), 0);
  await at.pool.devices.detach(device);
});

test("rbd: several images are copied in one go, or nothing is left", withCluster, async (t) => {
  const at = await opened(t);
  const { pool } = at;
  for (const id of ["v-p-1", "v-p-2"]) await write(pool, await pool.create(id, 10 * MIB), id);
  const copies = [
    { source: "v-p-1", id: "s-p-1" },
    { source: "v-p-2", id: "s-p-2" },
  ];
  const given = await pool.beginCopy(copies);
  await given.copy();
  await given.abandon();
  assert.deepEqual(await names(at), ["mooring.v-p-1", "mooring.v-p-2"]);
  const copy = await pool.beginCopy(copies);
  assert.equal(copy.atomicity, "each");
  await copy.copy();
  for (const id of ["v-p-1", "v-p-2"]) await write(pool, (await pool.find(id)) ?? assert.fail(id), "after");
  for (const image of await copy.finish())
    assert.equal(await read(pool, image, 5), image.id.replace("s", "v"));
  assert.doesNotMatch(await at.rbd("ls", "--long"), /mooring-new/);
});

test(
  "rbd: what a killed process left half-made goes, what others have in the Ceph pool stays",
  withCluster,
  async (t) => {
    const at = await opened(t);
    const { pool, rbd } = at;
    await write(pool, await pool.create("v-p-1", 10 * MIB), "kept");
    await pool.create("v-p-2", 10 * MIB);
    await pool.close();
    await rbd("create", "--size", "1M", "mooring-new.node-1~0.v-p-3");
    await rbd("create", "--size", "1M", "mooring-new.node-2~0.v-p-4");
    await rbd("create", "--size", "1M", "somebody-s");
    await rbd("snap", "create", "mooring.v-p-1@mooring-new.node-1~0.s-p-1");
    // Killed between the two renames of a replacement, and after them.
    await rbd("rename", "mooring.v-p-1", "mooring-old.v-p-1");
    await rbd("create", "--size", "1M", "mooring-old.v-p-2");
    await pool.open();
    assert.deepEqual(await names(at), [
      "mooring-new.node-2~0.v-p-4",
      "mooring.v-p-1",
      "mooring.v-p-2",
      "somebody-s",
    ]);
    const images = await pool.list();
    assert.deepEqual(images.map(({ id }) => id).sort(), ["v-p-1", "v-p-2"]);
    assert.equal(await read(pool, (await pool.find("v-p-1")) ?? assert.fail("lost"), 4), "kept");
    assert.doesNotMatch(await rbd("ls", "--long"), /@/);
  },
);

test(
  "rbd: what a killed process was about to remove goes with all below it, what others have put into Ceph's trash stays",
  withCluster,
  async (t) => {
    const at = await opened(t);
    const { pool, rbd } = at;
    await pool.create("v-p-1", 10 * MIB);
    await pool.clone("v-p-1", "s-p-1", 10 * MIB);
    await pool.clone("s-p-1", "v-p-2", 10 * MIB);
    await write(pool, await pool.create("v-p-3", 10 * MIB), "kept");
    for (const id of ["v-p-1", "s-p-1"]) await pool.remove(id);
    await pool.close();
    // Killed between the two commands of a removal; the other one was somebody's hand.
    await rbd("rename", "mooring.v-p-2", "mooring-gone.0.mooring.v-p-2");
    await rbd("trash", "mv", "mooring.v-p-3");
    await pool.open();
    await eventually("the trash to have only the volume that somebody has put there", async () =>
      /^\S+ mooring\.v-p-3$/.test((await rbd("trash", "ls", "--all")).trim()),
    );
    const [id = ""] = (await rbd("trash", "ls")).split(" ");
    await rbd("trash", "restore", id);
    assert.equal(await read(pool, (await pool.find("v-p-3")) ?? assert.fail("lost"), 4), "kept");
    assert.deepEqual(await names(at), ["mooring.v-p-3"]);
  },
);

test("rbd: a volume that somebody has open stays until he closes it", withCluster, async (t) => {
  const at = await opened(t);
  const { pool, path, place } = at;
  const volume = await pool.create("v-p-1", 10 * MIB);
  const device = await pool.devices.attach(volume);
  const other = createPool("rbd", { host, path: `${path}-2`, rbd: { nodeID: "node-2", place } });
  await other.open();
  t.after(() => other.close());
  await assert.rejects(
    other.remove("v-p-1"),
    refusal("UNAVAILABLE", /image mooring\.v-p-1 is still open somewhere/),
  );
  assert.deepEqual(await names(at), ["mooring.v-p-1"]);
  await pool.devices.detach(device);
  await other.remove("v-p-1");
  assert.deepEqual(await names(at), []);
  assert.equal((await at.rbd("trash", "ls", "--all")).trim(), "");
});

test(
  "rbd: a volume in somebody's RBD group is copied, and goes when it is out of the group",
  withCluster,
  async (t) => {
    const at = await opened(t);
    const { pool, ceph, place } = at;
    await write(pool, await pool.create("v-p-1", 10 * MIB), "kept");
    const group = `${place.pool}/${place.namespace}/theirs`;
    const image = `${place.pool}/${place.namespace}/mooring.v-p-1`;
    await ceph.admin("rbd", "group", "create", group);
    await ceph.admin("rbd", "group", "image", "add", group, image);
    await ceph.admin("rbd", "group", "snap", "create", `${group}@moment`);
    const copy = await pool.clone("v-p-1", "s-p-1", 10 * MIB);
    assert.equal(await read(pool, copy, 4), "kept");
    const refused = refusal("FAILED_PRECONDITION", /mooring\.v-p-1 is needed by .*, which is not Mooring's/);
    await assert.rejects(pool.remove("v-p-1"), refused);
    await assert.rejects(pool.replace("s-p-1", "v-p-1", MIB), refused);
    assert.equal(await read(pool, (await pool.find("v-p-1")) ?? assert.fail("lost"), 4), "kept");
    await ceph.admin("rbd", "group", "image", "rm", group, image);
    await assert.rejects(pool.remove("v-p-1"), refused);
    await ceph.admin("rbd", "group", "snap", "rm", `${group}@moment`);
    await ceph.admin("rbd", "group", "image", "add", group, image);
    await assert.rejects(pool.remove("v-p-1"), refused);
    await ceph.admin("rbd", "group", "image", "rm", group, image);
    for (const id of ["v-p-1", "s-p-1"]) await pool.remove(id);
    assert.deepEqual(await names(at), []);
    assert.equal((await at.rbd("trash", "ls", "--all")).trim(), "");
  },
);

test("rbd: copies of copies get their data before they are too deep", withCluster, async (t) => {
  const { pool, rbd } = await opened(t, { flattenDepth: 2 });
  await write(pool, await pool.create("v-p-0", 10 * MIB), "deep");
  for (const n of [1, 2, 3]) await pool.clone(`v-p-${n - 1}`, `v-p-${n}`, 10 * MIB);
  const parents = [];
  for (const n of [1, 2, 3])
    parents.push("parent" in JSON.parse(await rbd("info", "--format", "json", `mooring.v-p-${n}`)));
  assert.deepEqual(parents, [true, true, false]);
  assert.equal(await read(pool, (await pool.find("v-p-3")) ?? assert.fail("lost"), 4), "deep");
});

test(
  "rbd: devices outlive whoever opened them; one whose process was killed is opened anew",
  withCluster,
  async (t) => {
    const { pool, path, place } = await opened(t);
    const volume = await pool.create("v-p-1", 10 * MIB);
    await write(pool, volume, "kept");
    const device = await pool.devices.attach(volume);
    await pool.leave();
    const next = createPool("rbd", { host, path, rbd: { nodeID: "node-1", place } });
    await next.open();
    t.after(() => next.close());
    assert.deepEqual(await next.devices.attach(volume), device);
    const [pid = ""] = (
      await host.exec.run("pgrep", ["--full", `"mountpoint":"${volume.path}"`])
    ).stdout.split("\n");
    process.kill(Number(pid), "SIGKILL");
    await assert.rejects(readFile(device.path), /EIO/);
    await next.devices.detach(device);
    assert.equal(await read(next, volume, 4), "kept");
  },
);

test("rbd: who takes an image from a lost node shuts that node out of it", withCluster, async (t) => {
  const { pool, path, place } = await opened(t);
  const volume = await pool.create("v-p-1", 10 * MIB);
  const lost = await pool.devices.attach(volume);
  const put = (device: string, text: string) =>
    host.exec.run("dd", [`of=${device}`, "bs=4096", "conv=sync,notrunc", "oflag=direct"], { input: text });
  await put(lost.path, "lost");
  const other = createPool("rbd", { host, path: `${path}-2`, rbd: { nodeID: "node-2", place } });
  await other.open();
  t.after(() => other.close());
  await other.renew("v-p-1");
  const there = (await other.find("v-p-1")) ?? assert.fail("lost");
  await write(other, there, "mine");
  await assert.rejects(put(lost.path, "late"), /dd .* failed with exit code 1/);
  assert.equal(await read(other, there, 4), "mine");
  const user = await open(lost.path, "r");
  await pool.devices.detach(lost, { lastUser: true });
  await user.close();
  await eventually("the device to go", async () => (await host.loops.find(volume.path)) === undefined);
  // By a client that the cluster knows nothing about.
  await write(pool, volume, "back");
  assert.equal(await read(other, there, 4), "back");
});

test(
  "rbd: while the cluster is silent nothing waits for long, and all goes on after it",
  withCluster,
  async (t) => {
    const { ceph, pool } = await opened(t);
    await write(pool, await pool.create("v-p-1", 10 * MIB), "kept");
    const goOn = ceph.silence();
    t.after(goOn);
    await assert.rejects(
      pool.find("v-p-1"),
      refusal("UNAVAILABLE", /the Ceph cluster of images\/test-.* does not respond/),
    );
    await assert.rejects(pool.find("v-p-1"), (error: unknown) => {
      assert.ok(refusal("UNAVAILABLE", /does not respond/)(error), String(error));
      // What a command has not responded to in time names that as its cause.
      assert.equal((error as Error).cause, undefined, "the next one is refused without a command");
      return true;
    });
    await goOn();
    await eventually("the pool to respond", () => pool.find("v-p-1").catch(() => undefined), {
      withinMs: 240_000,
      lastSeen: () => ceph.admin("ceph", "--connect-timeout", "5", "status"),
    });
  },
);

test(
  "rbd: the map of a copy lists its data, and the changes since an earlier copy, and no object that was never written",
  withCluster,
  async (t) => {
    const { pool, path, place } = await opened(t);
    const volume = await pool.create("v-p-1", 64 * MIB);
    const blocks = async (...list: number[]) => {
      const device = await pool.devices.attach(volume);
      for (const at of list)
        await host.exec.run("dd", [
          ...["if=/dev/urandom", `of=${device.path}`, "bs=4096", "count=1"],
          ...[`seek=${at}`, "conv=notrunc", "oflag=direct"],
        ]);
      await pool.devices.detach(device);
    };
    await blocks(3, 5000);
    await pool.clone("v-p-1", "s-p-1", 64 * MIB);
    await blocks(9000);
    await pool.clone("v-p-1", "s-p-2", 64 * MIB);
    const { conf, ...rbd } = place;
    const object: Pool = {
      ...{ apiVersion: apiVersionOf(Pools), kind: "Pool", metadata: { name: "p" } },
      spec: { type: "rbd", mode: "shared", path: conf, rbd },
    };
    const reader = { host, stateDir: dirname(dirname(path)) };
    const map = (id: string) => imageMap(object, id, reader);
    const window = { from: 0, to: 64 * MIB };
    const objects = async (ranges: AsyncIterable<Range>): Promise<number[]> => {
      const found = new Set<number>();
      for await (const { offset } of ranges) found.add(Math.floor(offset / (4 * MIB)));
      return [...found];
    };
    const [first, second] = [await map("s-p-1"), await map("s-p-2")];
    assert.deepEqual([first.size, second.size], [64 * MIB, 64 * MIB]);
    assert.deepEqual(await objects(allocatedRanges(first.extents(), window)), [0, 4]);
    assert.deepEqual(await objects(allocatedRanges(second.extents(), window)), [0, 4, 8]);
    assert.deepEqual(await objects(changedRanges(first.extents(), second.extents(), window)), [0, 4, 8]);
    const has = async (block: number) => {
      for await (const { offset, length } of allocatedRanges(second.extents(), window))
        if (offset <= block * 4096 && (block + 1) * 4096 <= offset + length) return true;
      return false;
    };
    assert.deepEqual(await Promise.all([3, 5000, 9000].map(has)), [true, true, true]);
    await assert.rejects(map("s-p-3"), refusal("NOT_FOUND", /image s-p-3 is not in pool p/));
  },
);

test("rbd: a cluster without room refuses new volumes, with numbers", withCluster, async (t) => {
  const { ceph, pool } = await opened(t);
  await pool.create("v-p-1", 10 * MIB);
  const quota = 256 * MIB;
  await ceph.admin("ceph", "osd", "pool", "set-quota", ceph.pool, "max_bytes", String(quota));
  t.after(() => ceph.admin("ceph", "osd", "pool", "set-quota", ceph.pool, "max_bytes", "0"));
  const full = refusal("RESOURCE_EXHAUSTED", /^1 GiB more do not fit: 10 MiB of at most .* MiB are promised/);
  await eventually("the quota to count", async () => (await pool.usage()).totalBytes <= quota);
  await assert.rejects(pool.create("v-p-2", GIB), full);
  pool.limit({ reserve: quota });
  await assert.rejects(
    pool.create("v-p-2", MIB),
    refusal("RESOURCE_EXHAUSTED", /free and keeps .* in reserve/),
  );
  await pool.remove("v-p-1");
});

test("rbd: a key is in no argument, and in no file that others can read", withCluster, async (t) => {
  const { ceph, pool, place, path } = await opened(t);
  const key = /key = (\S+)/.exec(await readFile(ceph.keyring, "utf8"))?.[1] ?? assert.fail("no key");
  const volume = await pool.create("v-p-1", 10 * MIB);
  const device = await pool.devices.attach(volume);
  const lines = (await host.exec.run("ps", ["-eo", "args"])).stdout;
  assert.match(lines, /qemu-storage-daemon/);
  assert.ok(!lines.includes(key));
  await pool.devices.detach(device);
  assert.equal((await stat(join(path, "ceph.conf"))).mode & 0o077, 0);
  await chmod(place.keyring ?? "", 0o644);
  t.after(() => chmod(place.keyring ?? "", 0o600));
  const other = createPool("rbd", { host, path: `${path}-2`, rbd: { nodeID: "node-2", place } });
  await assert.rejects(other.open(), refusal("FAILED_PRECONDITION", /others may read the keyring/));
});

test("rbd: what is missing is named", withCluster, async (t) => {
  const { path, place } = await opened(t);
  const other = (more: Partial<RbdPlace>) =>
    createPool("rbd", {
      host,
      path: `${path}-2`,
      rbd: { nodeID: "node-2", place: { ...place, ...more } },
    }).open();
  await assert.rejects(
    other({ conf: "/none/ceph.conf" }),
    refusal("FAILED_PRECONDITION", /no \/none\/ceph.conf/),
  );
  await assert.rejects(other({ pool: "none" }), refusal("FAILED_PRECONDITION", /has no pool none/));
  await assert.rejects(other({ user: "nobody" }), refusal("PERMISSION_DENIED", /ceph df/));
  await assert.rejects(other({ namespace: "none" }), (error) => error instanceof EngineError);
  await assert.rejects(
    (async () => other({ pool: "a b" }))(),
    refusal("INVALID_ARGUMENT", /is no name of a Ceph pool/),
  );
});
