import assert from "node:assert/strict";
import { stat } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { createHost } from "../host/create-host.ts";
import { GIB, MIB, scratch } from "../testing/scratch.ts";
import { poolContract } from "./contract.ts";
import { createPool } from "./create-pool.ts";
import { fileContract } from "./file-contract.ts";
import { poolLayout } from "./layout.ts";

const host = createHost();
poolContract({ type: "btrfs", host });
fileContract("btrfs", host);

test("btrfs: images are one subvolume without copy-on-write, also after a kill before the attribute", async (t) => {
  const path = join(await scratch(t, host), "pool");
  const pool = createPool("btrfs", { host, path, size: GIB });
  await pool.open();
  const { images } = poolLayout("btrfs", path);
  // Inode 256 is the root of a subvolume.
  assert.equal((await stat(images)).ino, 256);
  await host.exec.run("chattr", ["-C", images]);
  await pool.close();
  await pool.open();
  const image = await pool.create("v-p-1", MIB);
  const { stdout } = await host.exec.run("lsattr", [image.path]);
  assert.match(stdout, /^-*C-* /);
  await pool.close();
});
