import assert from "node:assert/strict";
import { readFile, statfs, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { mutate } from "@mooring/store";
import { sample } from "@mooring/store/testing";
import { VolumeAttachments } from "../../api/attachment.ts";
import type { PoolType } from "../../api/pool.ts";
import { Volumes } from "../../api/volume.ts";
import { Bench, until } from "../../testing/agent.ts";
import { MIB } from "../../testing/scratch.ts";
import { endWorkload, idle, mountFor } from "./testing/filesystem.ts";
import { gatedHost } from "./testing/gated-host.ts";

interface Job {
  what: string;
  pool: PoolType;
  /** Its command, which waits while the ticket is torn out. */
  command: string;
  /** Its tickets, by volume. */
  tickets: Readonly<Record<string, string>>;
  /** Has "first" in the file `f` of v-p-1. */
  prepare: (bench: Bench) => Promise<unknown>;
  begin: (bench: Bench) => Promise<unknown>;
  /** Waits for the job's end, and reads what came of it. */
  end: (bench: Bench) => Promise<string>;
}

const file = (bench: Bench, id: string) => join(bench.imagePath(id), "data", "f");
const write = (bench: Bench, text: string) => writeFile(file(bench, "v-p-1"), text, { flush: true });

/** A file system with the file on it, and nobody who uses it. */
async function formatted(bench: Bench): Promise<void> {
  await writeFile(join(await mountFor(bench, "v-p-1"), "f"), "first", { flush: true });
  await endWorkload(bench, "v-p-1");
  await idle(bench, "v-p-1");
}

async function mounted(bench: Bench, atLeast: number): Promise<string> {
  await idle(bench, "v-p-1");
  const target = await mountFor(bench, "v-p-1");
  const { blocks, bsize } = await statfs(target);
  assert.ok(blocks * bsize >= atLeast, `${blocks * bsize} bytes`);
  const text = await readFile(join(target, "f"), "utf8");
  await endWorkload(bench, "v-p-1");
  return text;
}

const JOBS: readonly Job[] = [
  {
    ...{ what: "snapshot", pool: "directory", command: "cp" },
    tickets: { "v-p-1": "snapshot-controller-s-p-1" },
    prepare: (bench) => write(bench, "first"),
    begin: (bench) => bench.createSnapshot("s-p-1", "v-p-1"),
    end: async (bench) => {
      assert.equal((await bench.snapshot("s-p-1")).status?.error, undefined);
      return readFile(file(bench, "s-p-1"), "utf8");
    },
  },
  {
    ...{ what: "clone", pool: "directory", command: "cp" },
    tickets: { "v-p-1": "volume-clone-controller-v-p-2", "v-p-2": "volume-clone-controller-v-p-2" },
    prepare: (bench) => write(bench, "first"),
    begin: (bench) => bench.createVolume("v-p-2", { source: { kind: "Volume", name: "v-p-1" } }),
    end: async (bench) => {
      await bench.volumeWhere("v-p-2", ({ status }) => status?.size !== undefined);
      await idle(bench, "v-p-2");
      return readFile(file(bench, "v-p-2"), "utf8");
    },
  },
  {
    ...{ what: "expansion", pool: "xfs", command: "resize2fs" },
    tickets: { "v-p-1": "volume-expansion-controller-v-p-1" },
    prepare: formatted,
    begin: (bench) => bench.resize("v-p-1", 256 * MIB),
    end: async (bench) => {
      await bench.volumeWhere(
        "v-p-1",
        ({ status }) => status?.size === 256 * MIB && status.expansion === undefined,
      );
      return mounted(bench, 200 * MIB);
    },
  },
  {
    ...{ what: "salvage", pool: "xfs", command: "e2fsck" },
    tickets: { "v-p-1": "salvage-controller-v-p-1" },
    prepare: formatted,
    begin: async (bench) => {
      // As the agent finds it when a file system fails in use.
      const faultedAt = "2026-01-01T00:00:00Z";
      const salvage = { cause: "filesystem" as const, faultedAt, state: "Faulted" as const, message: "" };
      await bench.patchStatus("v-p-1", { robustness: "faulted", salvage });
    },
    end: async (bench) => {
      await bench.volumeWhere("v-p-1", ({ status }) => /Clean|Repaired/.test(status?.salvage?.state ?? ""));
      return mounted(bench, 32 * MIB);
    },
  },
  {
    ...{ what: "restore", pool: "directory", command: "cp" },
    tickets: { "v-p-1": "volume-restore-controller-v-p-1" },
    prepare: async (bench) => {
      await write(bench, "first");
      await bench.createSnapshot("s-p-1", "v-p-1");
      await bench.snapshot("s-p-1");
      await idle(bench, "v-p-1");
      await write(bench, "second");
    },
    begin: (bench) =>
      mutate(bench.store, Volumes, { name: "v-p-1" }, (volume) => {
        volume.spec.restoreFrom = { snapshot: "s-p-1" };
      }),
    end: async (bench) => {
      await bench.volumeWhere("v-p-1", ({ status }) => status?.restore?.state === "Restored");
      return readFile(file(bench, "v-p-1"), "utf8");
    },
  },
];

/** An operator deletes the ticket with any client of the API. Resolves with the number that it had. */
async function tearOut(bench: Bench, volume: string, id: string): Promise<number> {
  let number = 0;
  await mutate(bench.store, VolumeAttachments, { name: volume }, ({ spec }) => {
    number = spec.attachmentTickets?.[id]?.generation ?? 0;
    delete spec.attachmentTickets?.[id];
  });
  return number;
}

for (const job of sample(JOBS, { everyday: 1 })) {
  test(`${job.what}: its ticket that is torn out in the middle of its work comes back, the work ends, and the bytes are right`, async (t) => {
    const gate = gatedHost(job.command);
    // Nothing may wait for ever when the test fails: the agent is stopped next.
    t.after(gate.open);
    const bench = await Bench.open(t, job.pool, { tickets: true, host: gate.host });
    await bench.createVolume("v-p-1");
    await bench.volume("v-p-1", "detached");
    await job.prepare(bench);
    gate.close();
    await job.begin(bench);
    await gate.begun;
    for (const [volume, id] of Object.entries(job.tickets)) {
      const torn = await tearOut(bench, volume, id);
      assert.ok(torn > 0, `${volume} has no ticket ${id}`);
      await until(
        bench.store,
        VolumeAttachments,
        volume,
        ({ spec }) => (spec.attachmentTickets?.[id]?.generation ?? 0) > torn,
      );
    }
    gate.open();
    assert.equal(await job.end(bench), "first");
    await idle(bench, "v-p-1");
  });
}
