import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";

/** A folder of its own for a test, removed after it. */
export async function tempFolder(t: TestContext): Promise<string> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  t.after(() => rm(folder, { recursive: true, force: true }));
  return folder;
}
