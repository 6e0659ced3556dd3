import assert from "node:assert/strict";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { EngineError } from "../errors.ts";
import { scratch } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { isReadOnly } from "./mounts.ts";

const host = createHost();

test("bind, again, read-only, and away", async (t) => {
  const dir = await scratch(t, host);
  const [source, target] = [join(dir, "source"), join(dir, "tar get")];
  await mkdir(source);
  await mkdir(target);
  await writeFile(join(source, "f"), "x");
  await host.mounts.bind(source, target, { readOnly: false });
  await host.mounts.bind(source, target, { readOnly: false });
  assert.equal((await host.mounts.at(target)).length, 1);
  // As after a kill between bind and remount: the second call makes it read-only.
  await host.mounts.bind(source, target, { readOnly: true });
  const [entry] = await host.mounts.at(target);
  assert.ok(entry && isReadOnly(entry));
  await assert.rejects(writeFile(join(target, "g"), ""), /EROFS/);
  assert.equal(await readFile(join(target, "f"), "utf8"), "x");
  await host.mounts.unmount(target);
  await host.mounts.unmount(target);
  assert.deepEqual(await host.mounts.at(target), []);
});

test("unmount takes all layers, also through a symbolic link", async (t) => {
  const dir = await scratch(t, host);
  const target = join(dir, "t");
  await mkdir(target);
  for (const source of ["a", "b", "c"]) {
    await mkdir(join(dir, source));
    await host.exec.run("mount", ["--bind", join(dir, source), target]);
  }
  assert.deepEqual(
    (await host.mounts.at(target)).map((m) => m.root.slice(-2)),
    ["/a", "/b", "/c"],
  );
  await symlink(target, join(dir, "link"));
  await host.mounts.unmount(join(dir, "link"));
  assert.deepEqual(await host.mounts.at(target), []);
});

test("busy is an error that says so, not a success", async (t) => {
  const dir = await scratch(t, host);
  const target = join(dir, "t");
  await mkdir(target);
  await host.mounts.mount({ source: "tmpfs", target, fsType: "tmpfs" });
  const abort = new AbortController();
  const user = host.exec.try("sleep", ["60"], { cwd: target, signal: abort.signal }).catch(() => {});
  const error = await host.mounts.unmount(target).catch((e: unknown) => e);
  assert.ok(error instanceof EngineError);
  assert.equal(error.code, "FAILED_PRECONDITION");
  assert.match(error.message, /still mounted/);
  abort.abort();
  await user;
  await host.mounts.unmount(target);
});

test("another thing mounted there is refused", async (t) => {
  const dir = await scratch(t, host);
  for (const name of ["a", "b", "t"]) await mkdir(join(dir, name));
  await host.mounts.bind(join(dir, "a"), join(dir, "t"), { readOnly: false });
  await assert.rejects(host.mounts.bind(join(dir, "b"), join(dir, "t"), { readOnly: false }), /already has/);
});
