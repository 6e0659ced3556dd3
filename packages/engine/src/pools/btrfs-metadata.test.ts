import assert from "node:assert/strict";
import { open } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { eventually, thorough } from "@mooring/store/testing";
import { createHost } from "../host/create-host.ts";
import { allocateAll } from "../testing/allocate-all.ts";
import { MIB, scratch } from "../testing/scratch.ts";
import { createPool } from "./create-pool.ts";

const host = createHost();
const PIECES = 4096;
const MOST_COPIES = 60;

/** Pieces that do not touch each other: btrfs has an entry for each, and so have all copies. */
async function writeInPieces(path: string): Promise<void> {
  const handle = await open(path, "r+");
  const piece = Buffer.alloc(4096, "x");
  for (let index = 0; index < PIECES; index++) await handle.write(piece, 0, piece.length, index * 8192);
  await handle.sync();
  await handle.close();
}

test(
  "a btrfs pool whose metadata is nearly used up is full, takes no copies, and takes them again when there is room",
  thorough(),
  async (t) => {
    const path = join(await scratch(t, host), "pool");
    const pool = createPool("btrfs", { host, path, size: 512 * MIB });
    await pool.open();
    const image = await pool.create("v-p-1", ((PIECES * 8192) / MIB) * MIB);
    await writeInPieces(image.path);
    await allocateAll(host, join(path, "mnt"));
    assert.ok((await pool.usage()).freeBytes > 64 * MIB, "there is room for data");

    let copies = 0;
    let refusal = "";
    while (refusal === "" && copies < MOST_COPIES) {
      refusal = await pool.clone("v-p-1", `s-p-${copies}`, image.size).then(
        () => "",
        (error: unknown) => String(error),
      );
      if (refusal === "") copies += 1;
      await host.exec.run("sync", ["--file-system", join(path, "mnt")]);
    }
    assert.match(refusal, /free and keeps .* in reserve/);

    for (let index = 0; index < copies; index++) await pool.remove(`s-p-${index}`);
    await eventually("the pool to take copies again", async () => {
      await host.exec.run("sync", ["--file-system", join(path, "mnt")]);
      return pool.clone("v-p-1", "s-p-again", image.size).then(
        () => true,
        () => false,
      );
    });
    await pool.close();
  },
);
