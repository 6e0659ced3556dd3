import assert from "node:assert/strict";
import { mkdtemp, readFile, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { checksOrFailure } from "./checks-or-failure.ts";
import { machineChecks } from "./machine-checks.ts";

test("without /proc the machine's checks say so, and what to do, instead of failing themselves", async (t) => {
  const empty = await mkdtemp(join(tmpdir(), "mooring-proc-"));
  t.after(() => rm(empty, { recursive: true }));
  const found = await machineChecks(empty);
  for (const what of ["privileges", "file systems"]) {
    const failed = found.find(({ check }) => check === what);
    assert.equal(failed?.state, "fail");
    assert.match(failed?.detail ?? "", /^cannot be checked: ENOENT: .*mooring-proc-/);
    assert.equal(failed?.next, "mount -t proc proc /proc");
  }
  assert.ok(found.some(({ check }) => check === "tool losetup"));
});

test("what reads mounts later says the same, and a defect stays one", async () => {
  const reading = (path: string) => readFile(path).then(() => []);
  const [failed] = await checksOrFailure("mounts", reading("/proc/self/there-is-no-such-file"));
  assert.deepEqual([failed?.state, failed?.next], ["fail", "mount -t proc proc /proc"]);
  await assert.rejects(checksOrFailure("mounts", reading("/there-is-no-such-file")), /ENOENT/);
});
