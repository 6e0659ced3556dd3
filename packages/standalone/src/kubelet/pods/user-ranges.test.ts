import assert from "node:assert/strict";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { kubeletPaths } from "../paths.ts";
import { UserRanges } from "./user-ranges.ts";

test("each pod has ids of its own, and none gets any while those of another cannot be read", async (t) => {
  const root = await mkdtemp(join(tmpdir(), "mooring-users-"));
  t.after(() => rm(root, { recursive: true }));
  const paths = kubeletPaths(root);
  await mkdir(paths.pods);
  const users = new UserRanges(paths);
  const [a, b] = [await users.of("a"), await users.of("b")];
  assert.notEqual(a.first, b.first);
  assert.deepEqual(await users.of("a"), a);
  const note = join(paths.pod("a"), "userns");
  await rm(note);
  // It cannot be opened, as on a disk that fails.
  await symlink(note, note);
  await assert.rejects(users.of("a"), /ELOOP/);
  await assert.rejects(users.of("c"), /ELOOP/);
  await rm(note);
});
