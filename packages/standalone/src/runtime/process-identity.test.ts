import assert from "node:assert/strict";
import { execFileSync } from "node:child_process";
import { copyFile, mkdir, mkdtemp, readFile, rm, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { isRunc } from "./process-identity.ts";

test("runc's own first process is told from the program that takes its place", async (t) => {
  const bundle = await mkdtemp(join(tmpdir(), "mooring-runc-"));
  const name = `mooring-test-${process.pid}`;
  const runc = (...args: string[]) =>
    execFileSync("runc", ["--root", join(bundle, "root"), ...args], { cwd: bundle, stdio: "ignore" });
  await mkdir(join(bundle, "rootfs"));
  // It is never started, so it need not run: it has to be there.
  await copyFile("/bin/true", join(bundle, "rootfs/program"));
  runc("spec");
  const spec = JSON.parse(await readFile(join(bundle, "config.json"), "utf8"));
  Object.assign(spec.process, { terminal: false, args: ["/program"] });
  await writeFile(join(bundle, "config.json"), JSON.stringify(spec));
  t.after(async () => {
    runc("delete", "--force", name);
    await rm(bundle, { recursive: true });
  });
  runc("create", "--pid-file", "pid", name);
  assert.equal(await isRunc(Number(await readFile(join(bundle, "pid"), "utf8"))), true);
  assert.equal(await isRunc(process.pid), false);
});
