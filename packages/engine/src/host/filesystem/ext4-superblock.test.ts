import assert from "node:assert/strict";
import { join } from "node:path";
import { test } from "node:test";
import { EngineError } from "../../errors.ts";
import { MIB, scratch, sparse } from "../../testing/scratch.ts";
import { createHost } from "../create-host.ts";
import { readExt4Superblock } from "./ext4-superblock.ts";

const host = createHost();
const BYTES = 64 * MIB;

for (const [blockSize, feature] of [
  [1024, "^64bit"],
  [4096, "64bit"],
] as const) {
  test(`the size of an ext4 with ${blockSize}-byte blocks and ${feature}`, async (t) => {
    const image = await sparse(join(await scratch(t, host), "i"), BYTES);
    await host.exec.run("mkfs.ext4", ["-q", "-F", "-O", feature, "-b", String(blockSize), image]);
    assert.deepEqual(await readExt4Superblock(image), { blocks: BYTES / blockSize, blockSize });
  });
}

test("what is no ext4 has no size", async (t) => {
  const image = await sparse(join(await scratch(t, host), "i"), BYTES);
  await assert.rejects(readExt4Superblock(image), EngineError);
});
