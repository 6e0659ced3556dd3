import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { mkdir, mkdtemp, rmdir, truncate, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { type TestContext, test } from "node:test";
import { promisify } from "node:util";
import { folderOf } from "../testing/api.ts";
import { mooring } from "../testing/command.ts";
import type { Check } from "./check.ts";
import { diskChecks } from "./disk-checks.ts";

const run = promisify(execFile);
const MIB = 1024 ** 2;

/** A disk of 100 MiB; gone after the test. */
async function diskOf(t: TestContext): Promise<string> {
  const disk = await mkdtemp(join(tmpdir(), "mooring-disk-"));
  await run("mount", ["-t", "tmpfs", "-o", "size=100M", "tmpfs", disk]);
  t.after(async () => {
    await run("umount", ["-l", disk]);
    await rmdir(disk);
  });
  return disk;
}

const stateOf = (checks: readonly Check[], name: string) =>
  checks.find(({ check }) => check.startsWith(name));

test("doctor: a disk that fills up below the state folder is reported before it is full, with what to do", async (t) => {
  const disk = await diskOf(t);
  const steps = [
    [10, "ok"],
    [87, "warn"],
    [97, "fail"],
  ] as const;
  for (const [mebibytes, state] of steps) {
    await writeFile(join(disk, "filler"), Buffer.alloc(mebibytes * MIB));
    const found = stateOf(await diskChecks(disk), "disk of");
    assert.equal(found?.state, state, JSON.stringify(found));
    assert.match(found?.detail ?? "", new RegExp(`${mebibytes} % used`));
    assert.equal(found?.next?.includes(`df -h ${disk}`) ?? false, state !== "ok");
  }
  const { code, stdout } = await mooring(["doctor", "--json", "--state-dir", disk]);
  assert.equal(code, 1);
  assert.equal(stateOf(JSON.parse(stdout), "disk of")?.state, "fail");
});

test("doctor: pools that may grow larger than the disk below has room are reported, all of them together", async (t) => {
  const disk = await diskOf(t);
  const pool = async (name: string, bytes: number) => {
    const folder = join(disk, "pools", name);
    await mkdir(folder, { recursive: true });
    await writeFile(join(folder, "pool.img"), Buffer.alloc(MIB));
    await truncate(join(folder, "pool.img"), bytes);
  };
  await pool("a", 60 * MIB);
  assert.equal(stateOf(await diskChecks(disk), "pools of"), undefined);
  await pool("b", 60 * MIB);
  const found = stateOf(await diskChecks(disk), "pools of");
  assert.equal(found?.state, "warn");
  assert.match(found.detail, /may still grow by 118 MiB.*98 MiB free/);
});

test("doctor: a state folder that is not there yet has no disk to report", async (t) => {
  assert.deepEqual(await diskChecks(join(await folderOf(t), "none")), []);
});
