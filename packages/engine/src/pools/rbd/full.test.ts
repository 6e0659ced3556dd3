import assert from "node:assert/strict";
import { type ChildProcess, spawn } from "node:child_process";
import { once } from "node:events";
import { readFile } from "node:fs/promises";
import { join } from "node:path";
import { after, type TestContext, test } from "node:test";
import { type CephCluster, cephOfFile, eventually, withCeph } from "@mooring/store/testing";
import { EngineError } from "../../errors.ts";
import { createHost } from "../../host/create-host.ts";
import { MIB, scratch } from "../../testing/scratch.ts";
import type { PoolBackend } from "../backend.ts";
import { createPool } from "../create-pool.ts";

const host = createHost({ server: true });
const withCluster = await withCeph();
const cluster = cephOfFile(after);
const PATIENT = { withinMs: 240_000, everyMs: 500 };
/** Less than each test writes at first. */
const QUOTA = 16 * MIB;
/** In each volume, in MiB. */
const BLOCKS = 64;

/** Whether it was refused because the pool is full. A slow machine does not always hear in time what it is refused for. */
async function refusesAsFull(work: Promise<unknown>): Promise<boolean> {
  const error = await work.then(
    () => undefined,
    (cause: unknown) => cause,
  );
  if (!(error instanceof EngineError) || error.code === "UNAVAILABLE") return false;
  assert.equal(error.code, "RESOURCE_EXHAUSTED", error.stack);
  assert.match(error.message, /the Ceph pool of images\S* is full/);
  assert.match(error.hint ?? "", /ceph osd pool set-quota images max_bytes/);
  return true;
}

/** A pool that holds what it is given until the test ends; `room` sets its quota: 0 is none. */
async function opened(t: TestContext, namespace: boolean) {
  const dir = await scratch(t, host);
  const ceph = await cluster();
  const { conf, user, keyring, pool: name } = ceph;
  const place = {
    ...{ conf, user, keyring, pool: name },
    ...(namespace ? { namespace: await ceph.namespace() } : {}),
  };
  const path = join(dir, "p");
  const limits = { reserve: 0, overcommit: 100 };
  const pool = createPool("rbd", { host, path, ...limits, rbd: { nodeID: "node-1", place } });
  const room = (bytes: number) =>
    ceph.admin("ceph", "osd", "pool", "set-quota", name, "max_bytes", String(bytes));
  const bytes = join(dir, "bytes");
  await host.exec.run("dd", ["if=/dev/urandom", `of=${bytes}`, "bs=1M", `count=${BLOCKS}`]);
  const writer = new Writer(bytes);
  t.after(async () => {
    // A writer that waits cannot be ended, and its device not closed.
    await room(0);
    await writer.stop();
    await pool.close().catch(() => {});
  });
  await pool.open();
  return { pool, ceph, room, bytes, writer, copy: join(dir, "copy") };
}

/** Writes a volume's blocks one after the other, and begins again with the first, until it is stopped. */
class Writer {
  /** Blocks that the device has taken. */
  taken = 0;
  readonly #bytes: string;
  #process: ChildProcess | undefined;
  #ended: Promise<unknown[]> = Promise.resolve([0, null]);

  constructor(bytes: string) {
    this.#bytes = bytes;
  }

  start(device: string): void {
    const block = `dd if="$0" of="$1" bs=1M count=1 skip=$i seek=$i oflag=direct conv=notrunc 2>/dev/null`;
    const all = `trap end=1 TERM; i=0; until [ "$end" ]; do ${block} || exit 1; echo; i=$(((i + 1) % ${BLOCKS})); done`;
    this.#process = spawn("sh", ["-c", all, this.#bytes, device], { stdio: ["ignore", "pipe", "inherit"] });
    this.#process.stdout?.on("data", (lines: Buffer) => {
      this.taken += lines.length;
    });
    this.#ended = once(this.#process, "close");
  }

  async takes(blocks: number): Promise<void> {
    const enough = this.taken + blocks;
    await eventually(`its device to take ${blocks} blocks`, () => this.taken >= enough, PATIENT);
  }

  /** Resolves with its exit code when the block that is under way is written. */
  async stop(): Promise<unknown> {
    this.#process?.kill();
    return (await this.#ended)[0];
  }
}

async function isFullAndKnown(pool: PoolBackend, ceph: CephCluster): Promise<void> {
  await eventually(
    "the cluster to refuse writes, and the pool to know",
    async () => {
      const pools = await ceph.admin("ceph", "osd", "pool", "ls", "detail", "--format", "json");
      return /"flags_names":"[^"]*full_quota/.test(pools) && (await pool.writersSuspended());
    },
    PATIENT,
  );
  assert.equal((await pool.usage()).freeBytes, 0);
}

/** New images are refused, and the writer has not gone on meanwhile. It may, until its client hears of the full pool: by its next write. */
async function refusesAndHolds(pool: PoolBackend, ceph: CephCluster, writer: Writer): Promise<void> {
  await eventually(
    "new images to be refused, and the writer to wait",
    async () => {
      const before = writer.taken;
      const refused = await refusesAsFull(pool.create("v-p-3", 8 * MIB));
      await isFullAndKnown(pool, ceph);
      return refused && writer.taken === before;
    },
    PATIENT,
  );
}

/** A group of another Ceph pool, which no list of ours shows. */
async function putIntoGroup(ceph: CephCluster, image: string): Promise<{ takeOut(): Promise<void> }> {
  await ceph.admin("ceph", "osd", "pool", "create", "theirs", "8", "8");
  await ceph.admin("rbd", "pool", "init", "theirs");
  await ceph.admin("rbd", "group", "create", "theirs/group");
  const change = async (verb: "add" | "rm") =>
    void (await ceph.admin("rbd", "group", "image", verb, "theirs/group", `${ceph.pool}/${image}`));
  await change("add");
  return { takeOut: () => change("rm") };
}

const hasRoom = (pool: PoolBackend) =>
  eventually(
    "the pool to have room, and to take an image",
    // For some seconds after the last that was refused the next one is not even tried.
    async () =>
      !(await pool.writersSuspended()) && (await pool.create("v-p-3", 8 * MIB).catch(() => undefined)),
    PATIENT,
  );

test(
  "rbd: a full pool keeps its writers waiting, lets removals through, and goes on",
  withCluster,
  async (t) => {
    const { pool, ceph, room, bytes, writer, copy } = await opened(t, false);
    const [kept, removed] = [
      await pool.create("v-p-1", BLOCKS * MIB),
      await pool.create("v-p-2", BLOCKS * MIB),
    ];
    // Ceph makes its list of removed images with the first of them, which a full pool does not allow.
    await pool.create("v-p-0", 8 * MIB);
    await pool.remove("v-p-0");
    await pool.create("v-p-4", 8 * MIB);
    const group = await putIntoGroup(ceph, "mooring.v-p-4");
    const other = await pool.devices.attach(removed);
    await host.exec.run("dd", [`if=${bytes}`, `of=${other.path}`, "bs=1M", "count=40", "oflag=direct"]);
    await pool.devices.detach(other);
    const device = await pool.devices.attach(kept);
    writer.start(device.path);
    await writer.takes(1);
    await room(QUOTA);
    await isFullAndKnown(pool, ceph);
    await refusesAndHolds(pool, ceph, writer);
    const ids = async () => (await pool.list()).map(({ id }) => id).sort();
    assert.deepEqual(await ids(), ["v-p-1", "v-p-2", "v-p-4"]);

    await pool.remove("v-p-2");
    await assert.rejects(pool.remove("v-p-4"), (error: unknown) => {
      assert.ok(error instanceof EngineError && error.code === "FAILED_PRECONDITION", String(error));
      assert.match(error.message, /^image mooring\.v-p-4 is needed by an RBD group of another pool/);
      return true;
    });
    assert.deepEqual(await ids(), ["v-p-1", "v-p-4"]);
    await room(8 * QUOTA);
    await writer.takes(BLOCKS);
    assert.equal(await writer.stop(), 0, "no write has failed");
    await host.exec.run("dd", [`if=${device.path}`, `of=${copy}`, "bs=1M", "iflag=direct"]);
    assert.ok(
      (await readFile(bytes)).equals(await readFile(copy)),
      "what was written is there, byte by byte",
    );
    await hasRoom(pool);
    await pool.devices.detach(device);
    await group.takeOut();
    for (const id of ["v-p-1", "v-p-3", "v-p-4"]) await pool.remove(id);
    assert.deepEqual(await ids(), []);
  },
);

test("rbd: in a namespace of a full pool all waits and says so, and goes on", withCluster, async (t) => {
  const { pool, ceph, room, writer } = await opened(t, true);
  const device = await pool.devices.attach(await pool.create("v-p-1", BLOCKS * MIB));
  writer.start(device.path);
  await writer.takes(24);
  await room(QUOTA);
  await isFullAndKnown(pool, ceph);
  await refusesAndHolds(pool, ceph, writer);
  await eventually("its images not to be read", () => refusesAsFull(pool.list()), PATIENT);
  await room(0);
  await writer.takes(BLOCKS);
  assert.equal(await writer.stop(), 0, "no write has failed");
  await hasRoom(pool);
  await pool.devices.detach(device);
  for (const id of ["v-p-1", "v-p-3"]) await pool.remove(id);
});
