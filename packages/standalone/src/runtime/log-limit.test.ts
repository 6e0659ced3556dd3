import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { subscribe, unsubscribe } from "node:diagnostics_channel";
import { appendFile, mkdtemp, readFile, stat, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { trimLog, trimMessage, type WhileStill } from "./log-limit.ts";

const MIB = 1024 * 1024;

/** A file with a line in it, and room past its end. */
async function reserved(bytes: number): Promise<string> {
  const file = join(await mkdtemp(join(tmpdir(), "mooring-log-")), "0.log");
  await writeFile(file, "first\n");
  await promisify(execFile)("fallocate", ["--keep-size", "--length", `${bytes}`, file]);
  return file;
}

for (const [what, trim] of [
  [
    "log",
    async (file: string, whileStill: WhileStill) => trimLog(file, await stat(file), { begin: 0, whileStill }),
  ],
  ["termination message", trimMessage],
] as const) {
  test(`what is written into a ${what} until its writer stands still is not truncated with what it has reserved`, async () => {
    const file = await reserved(80 * MIB);
    let stood = 0;
    await trim(file, async (work) => {
      await appendFile(file, "second\n");
      stood += 1;
      await work();
    });
    assert.equal(await readFile(file, "utf8"), "first\nsecond\n");
    assert.ok((await stat(file)).blocks * 512 < 2 * MIB);
    await trim(file, () => assert.fail("nothing is reserved any more"));
    assert.equal(stood, 1);
  });

  test(`a ${what} whose writer does not stand still is left as it is`, async () => {
    const file = await reserved(80 * MIB);
    await assert.rejects(async () => trim(file, () => Promise.reject(new Error("busy"))), /busy/);
    assert.equal(await readFile(file, "utf8"), "first\n");
  });
}

test("room is given back without a program, which a container could have started without end", async (t) => {
  const file = join(await mkdtemp(join(tmpdir(), "mooring-log-")), "0.log");
  let programs = 0;
  const count = () => {
    programs += 1;
  };
  subscribe("child_process", count);
  t.after(() => unsubscribe("child_process", count));
  await writeFile(file, Buffer.alloc(80 * MIB, "x"));
  await trimMessage(file, () => assert.fail("nothing is reserved"));
  const { size, blocks } = await stat(file);
  assert.equal(size, 80 * MIB);
  assert.ok(blocks * 512 < 2 * MIB, `${blocks} blocks`);
  assert.deepEqual((await readFile(file)).subarray(-3).toString(), "xxx");
  assert.equal(programs, 0);
});
