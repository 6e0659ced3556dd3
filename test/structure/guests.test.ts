import assert from "node:assert/strict";
import { chmod, mkdtemp, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { whyNoGuests, whyNoKernel } from "../../scripts/lib/kernels.mjs";

test("where no guest can run, the reason is known before anything is installed", () => {
  assert.match(whyNoGuests({ arch: "arm64" }) ?? "", /x86_64 only; this is arm64/);
  assert.match(whyNoGuests({ arch: "x64", tun: "/nowhere/tun" }) ?? "", /\/nowhere\/tun is missing/);
});

test("a kernel that cannot trace its programs is no kernel for guests, and what it printed is the reason", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-guests-"));
  t.after(() => rm(folder, { recursive: true }));
  const kernel = async (name: string, script: string): Promise<string> => {
    const path = join(folder, name);
    await writeFile(path, `#!/bin/sh\n${script}\n`);
    await chmod(path, 0o755);
    return path;
  };
  const first = "printf 'Checking that ptrace can change system call numbers...'";
  // As one prints where a sandbox denies ptrace(2).
  const denied = await kernel("denied", `${first}; echo 'check_ptrace : expected SIGSTOP' >&2; exit 1`);
  assert.match((await whyNoKernel(denied)) ?? "", /\(ptrace\) here: .*check_ptrace : expected SIGSTOP/);
  const works = await kernel("works", `${first}; echo OK; exec sleep 600`);
  assert.equal(await whyNoKernel(works), undefined);
  assert.match((await whyNoKernel(join(folder, "missing"))) ?? "", /ENOENT/);
});
