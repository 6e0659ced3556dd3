import assert from "node:assert/strict";
import { mkdtemp, rm, stat, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { after, test } from "node:test";
import { makeFolder } from "./make-folder.ts";

const folder = await mkdtemp(join(tmpdir(), "mooring-folders-"));
after(() => rm(folder, { recursive: true }));

test("a folder is made with those above it, by several at once, and stays as it is when it is there", async () => {
  const path = join(folder, "a/b/c");
  await Promise.all([
    makeFolder(path, 0o700),
    makeFolder(path, 0o700),
    makeFolder(join(folder, "a/b"), 0o700),
  ]);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  await makeFolder(path, 0o755);
  assert.equal((await stat(path)).mode & 0o777, 0o700);
  const link = join(folder, "link");
  await symlink(path, link);
  await makeFolder(join(link, "d"));
  assert.ok((await stat(join(path, "d"))).isDirectory());
});

test("where no folder can be made an error names it, instead of trying for ever", async () => {
  const refusal = (name: string) => ({
    name: "FolderError",
    message: new RegExp(`the folder ${name} cannot be`),
  });
  await assert.rejects(makeFolder("/proc/none"), refusal("/proc/none"));
  await assert.rejects(makeFolder("/proc/none/below/it"), refusal("/proc/none"));
  await writeFile(join(folder, "file"), "");
  await assert.rejects(makeFolder(join(folder, "file")), refusal(join(folder, "file")));
  await assert.rejects(makeFolder(join(folder, "file/below")), { code: "ENOTDIR" });
  await symlink("/nowhere/at/all", join(folder, "dangling"));
  await assert.rejects(makeFolder(join(folder, "dangling")), refusal(join(folder, "dangling")));
});
