import assert from "node:assert/strict";
import { execFile } from "node:child_process";
import { access, mkdir, mkdtemp, readFile, writeFile } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { promisify } from "node:util";
import { removeFolder } from "./remove-folder.ts";

const run = promisify(execFile);

test("a folder is not removed as long as something is mounted below it", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-removed-"));
  const mounted = join(folder, "pools", "a pool");
  await mkdir(mounted, { recursive: true });
  await run("mount", ["-t", "tmpfs", "none", mounted]);
  t.after(() => run("umount", ["--lazy", mounted]).catch(() => {}));
  const image = join(mounted, "image");
  await writeFile(image, "of a volume");
  await writeFile(join(folder, "beside"), "");
  await assert.rejects(removeFolder(folder), /still mounted: .*a pool/);
  assert.equal(await readFile(image, "utf8"), "of a volume");
  await access(join(folder, "beside"));
  await run("umount", [mounted]);
  await removeFolder(folder);
  await assert.rejects(access(folder), { code: "ENOENT" });
});
