import assert from "node:assert/strict";
import { createHash } from "node:crypto";
import { mkdir, mkdtemp, rm, symlink } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import { test } from "node:test";
import { openImageCache } from "./image-cache.ts";

const sha = (text: string): string => createHash("sha256").update(text).digest("hex");

test("an image whose note cannot be read is not removed", async (t) => {
  const folder = await mkdtemp(join(tmpdir(), "mooring-images-"));
  t.after(() => rm(folder, { recursive: true }));
  const cache = await openImageCache(folder);
  const add = (name: string) =>
    cache.add(
      { name, digest: `sha256:${sha(name)}` },
      async (place) => {
        await mkdir(join(place, "rootfs"));
        return "{}";
      },
      () => [],
    );
  await add("kept");
  const note = join(folder, "names", sha("kept"));
  await rm(note);
  // It cannot be opened, as on a disk that fails.
  await symlink(note, note);
  await assert.rejects(add("other"), /ELOOP/);
  assert.ok((await cache.open(`sha256:${sha("kept")}`)) !== undefined);
});
