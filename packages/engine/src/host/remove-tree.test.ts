import assert from "node:assert/strict";
import { existsSync } from "node:fs";
import { mkdir, readFile, symlink, writeFile } from "node:fs/promises";
import { join } from "node:path";
import { test } from "node:test";
import { scratch } from "../testing/scratch.ts";
import { createHost } from "./create-host.ts";
import { removeTree } from "./remove-tree.ts";

const host = createHost();

test("a folder in which something is mounted stays, with all that is mounted there", async (t) => {
  const dir = await scratch(t, host);
  const [data, tree] = [join(dir, "data"), join(dir, "tree")];
  await mkdir(data);
  await mkdir(join(tree, "inside"), { recursive: true });
  await writeFile(join(data, "file"), "kept");
  await host.mounts.bind(data, join(tree, "inside"), { readOnly: false });
  // Mounts have names without symbolic links.
  await symlink(dir, join(dir, "link"));
  for (const path of [tree, join(dir, "link", "tree")])
    await assert.rejects(removeTree(host, path), {
      code: "FAILED_PRECONDITION",
      message: `${path} is not removed: ${join(tree, "inside")} is mounted in it`,
    });
  assert.equal(await readFile(join(data, "file"), "utf8"), "kept");
  await host.mounts.unmount(join(tree, "inside"));
  await removeTree(host, tree);
  assert.equal(existsSync(tree), false);
  assert.equal(await readFile(join(data, "file"), "utf8"), "kept");
  await removeTree(host, tree);
});
