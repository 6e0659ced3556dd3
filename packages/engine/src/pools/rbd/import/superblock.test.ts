import assert from "node:assert/strict";
import { open, truncate, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { createHost } from "../../../host/create-host.ts";
import { MIB, scratch } from "../../../testing/scratch.ts";
import { HEAD_BYTES, readSuperblock } from "./superblock.ts";

const host = createHost();

async function made(t: TestContext, program: string, ...args: string[]) {
  const file = join(await scratch(t, host), "image");
  await writeFile(file, "");
  await truncate(file, 400 * MIB);
  await host.exec.run(program, [...args, file]);
  const handle = await open(file);
  const { buffer } = await handle.read(Buffer.alloc(HEAD_BYTES), 0, HEAD_BYTES, 0);
  await handle.close();
  return readSuperblock(buffer);
}

test("what mkfs has made is recognised, with its smallest piece", async (t) => {
  assert.deepEqual(await made(t, "mkfs.xfs", "-q", "-s", "size=512"), { kind: "xfs", unit: 512 });
  assert.deepEqual(await made(t, "mkfs.xfs", "-q", "-s", "size=4096"), { kind: "xfs", unit: 4096 });
  assert.deepEqual(await made(t, "mkfs.ext4", "-q", "-b", "1024"), { kind: "ext4", unit: 1024 });
  assert.deepEqual(await made(t, "mkfs.ext4", "-q", "-b", "4096"), { kind: "ext4", unit: 4096 });
  assert.deepEqual(await made(t, "mkfs.btrfs", "-q"), { kind: "btrfs", unit: 4096 });
});

test("partitions, encryption, zeros and the rest are told apart", () => {
  const head = (at: number, text: string): Buffer => {
    const bytes = Buffer.alloc(8192);
    bytes.write(text, at, "latin1");
    return bytes;
  };
  assert.deepEqual(readSuperblock(head(512, "EFI PART")), { kind: "partitions", unit: 512 });
  assert.deepEqual(readSuperblock(head(4096, "EFI PART")), { kind: "partitions", unit: 4096 });
  assert.deepEqual(readSuperblock(head(510, "\x55\xaa")), { kind: "partitions", unit: 512 });
  assert.deepEqual(readSuperblock(head(0, "LUKS\xba\xbe")), { kind: "LUKS" });
  assert.deepEqual(readSuperblock(Buffer.alloc(0)), { kind: "nothing" });
  assert.deepEqual(readSuperblock(head(100, "of a database")), { kind: "unknown" });
});
