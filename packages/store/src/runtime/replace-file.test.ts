import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdtemp, readdir, readFile, rm, rmdir, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { promisify } from "node:util";
import { replaceFile } from "./replace-file.ts";

const command = promisify(execFile);
const PAGE = 4096;

const folder = await mkdtemp(join(tmpdir(), "mooring-replace-"));
await command("mount", ["-t", "tmpfs", "-o", "size=64k", "mooring-test", folder]);
after(async () => {
  await command("umount", [folder]);
  await rmdir(folder);
});

const filler = join(folder, "filler");
const fill = () => assert.rejects(writeFile(filler, Buffer.alloc(64 * PAGE)), { code: "ENOSPC" });

test("a file is made and replaced, with its mode, and nothing is beside it", async () => {
  const path = join(folder, "a");
  await replaceFile(path, "one\n");
  await replaceFile(path, "the second\n", 0o640);
  assert.equal(await readFile(path, "utf8"), "the second\n");
  assert.equal((await stat(path)).mode & 0o777, 0o640);
  await rm(path);
  assert.deepEqual(await readdir(folder), []);
});

test("on a full disk a text goes where the one before is, and what needs more names its file", async (t) => {
  const [path, other] = [join(folder, "record"), join(folder, "other")];
  await replaceFile(path, JSON.stringify({ published: ["a", "b"] }));
  await fill();
  t.after(() => rm(filler));
  await replaceFile(path, JSON.stringify({ published: ["a"] }));
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { published: ["a"] });
  await replaceFile(path, JSON.stringify({ published: ["a", "b", "c"] }));
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { published: ["a", "b", "c"] });
  const refusal = { code: "ENOSPC", message: /^\S+ cannot be written: its disk is full/, hint: /make room/ };
  await assert.rejects(replaceFile(path, "x".repeat(PAGE + 1)), refusal);
  assert.deepEqual(JSON.parse(await readFile(path, "utf8")), { published: ["a", "b", "c"] });
  await assert.rejects(replaceFile(other, "new"), { ...refusal, message: new RegExp(`^${other} `) });
  assert.deepEqual((await readdir(folder)).sort(), ["filler", "record"]);
});
