import assert from "node:assert/strict";
import { mkdir, mkdtemp, readdir, rm, symlink, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { containerFiles, readMonitor, readRecords } from "./container-files.ts";

test("a container whose record is there and cannot be read is not taken for one that never was", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "mooring-records-"));
  t.after(() => rm(root, { recursive: true }));
  const filesOf = (id: string) => containerFiles(join(root, id), join(root, id, "bundle"));
  for (const id of ["none", "half", "unread"]) await mkdir(join(root, id));
  await writeFile(join(root, "half", "record.json"), '{"id":');
  // It cannot be opened, as on a disk that fails.
  for (const name of ["record.json", "pid"]) await symlink(name, join(root, "unread", name));
  await assert.rejects(readRecords(root, filesOf), /ELOOP/);
  await assert.rejects(readMonitor(filesOf("unread")), /ELOOP/);
  assert.ok((await readdir(root)).includes("unread"));
  await rm(join(root, "unread"), { recursive: true });
  assert.deepEqual(await readRecords(root, filesOf), []);
  assert.deepEqual(await readdir(root), []);
});
