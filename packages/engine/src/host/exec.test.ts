import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { test } from "node:test";
import { EngineError } from "../errors.ts";
import { createExec, limited } from "./exec.ts";
import { Spawners } from "./spawners.ts";

for (const [how, exec] of [
  ["directly", createExec(new Spawners(Number.POSITIVE_INFINITY))],
  ["through the spawner", createExec(new Spawners(0))],
] as const) {
  test(`${how}: arguments reach the program as they are, and messages are in English`, async () => {
    const result = await exec.run("sh", ["-c", 'printf "%s|%s" "$1" "$LC_ALL"', "sh", "a b; $(id) 'x'"]);
    assert.equal(result.stdout, "a b; $(id) 'x'|C");
  });

  test(`${how}: a missing tool names the package that has it`, async () => {
    const error = await exec.run("/nowhere/mkfs.xfs", []).catch((e: unknown) => e);
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "FAILED_PRECONDITION");
    assert.match(error.hint ?? "", /apt-get install xfsprogs/);
  });

  test(`${how}: a failure carries the exit code and what the program printed`, async () => {
    await assert.rejects(
      exec.run("sh", ["-c", "echo no such luck >&2; exit 3"]),
      /exit code 3: no such luck/,
    );
    const result = await exec.try("sh", ["-c", "exit 3"]);
    assert.equal(result.exitCode, 3);
  });

  test(`${how}: death by a signal is never success`, async () => {
    const result = await exec.try("sh", ["-c", "kill -9 $$"]);
    assert.equal(result.exitCode, null);
    assert.equal(result.signal, "SIGKILL");
    await assert.rejects(exec.run("sh", ["-c", "kill -9 $$"]), /ended by SIGKILL/);
  });

  test(`${how}: a helper that stays in the background does not block the call`, async () => {
    const begin = Date.now();
    const { stdout } = await exec.run("sh", ["-c", "sleep 600 & echo $!"]);
    process.kill(Number(stdout));
    assert.ok(Date.now() - begin < 300_000);
  });

  test(`${how}: an abort ends the whole process group and rejects with its reason`, async () => {
    const abort = new AbortController();
    const run = exec.run("sh", ["-c", "sleep 60 & echo $! >&2; wait"], { signal: abort.signal });
    setTimeout(() => abort.abort(new Error("enough")), 50);
    await assert.rejects(run, /enough/);
  });

  test(`${how}: a command that does not end in its time is ended, and the error names it`, async () => {
    const error = await limited(exec, 100)
      .run("sleep", ["60"])
      .catch((e: unknown) => e);
    assert.ok(error instanceof EngineError);
    assert.equal(error.code, "DEADLINE_EXCEEDED");
    assert.match(error.message, /^sleep did not end/);
  });

  test(`${how}: an uninterruptible child is waited for, whatever the signal does`, async () => {
    const abort = new AbortController();
    const run = exec.run("sh", ["-c", "sleep 0.3; echo done"], {
      signal: abort.signal,
      uninterruptible: true,
    });
    abort.abort(new Error("enough"));
    assert.equal((await run).stdout, "done\n");
  });

  test(`${how}: only the tail of endless output is kept`, async () => {
    const { stdout } = await exec.run("sh", ["-c", "head -c 5000000 /dev/zero | tr '\\0' x; echo end"]);
    assert.equal(stdout.length, 1024 * 1024);
    assert.ok(stdout.endsWith("xend\n"));
  });

  test(`${how}: input is fed to the program, and one that does not read it is no error`, async () => {
    assert.equal((await exec.run("cat", [], { input: "abc" })).stdout, "abc");
    await exec.run("true", [], { input: "x".repeat(1_000_000) });
    assert.ok(existsSync("/bin/true"));
  });
}
