import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { testRegistry } from "../contract/kinds.ts";
import { LocalStore, type LocalStoreOptions } from "../local/local-store.ts";

/** A LocalStore of the test kinds in a folder of its own, closed and removed after the test. */
export async function openStore(
  t: TestContext,
  options: Partial<LocalStoreOptions> = {},
): Promise<LocalStore> {
  const folder = await mkdtemp(join(tmpdir(), "mooring-store-"));
  const store = await LocalStore.open({ path: folder, registry: testRegistry(), ...options });
  t.after(async () => {
    await store.close();
    await rm(folder, { recursive: true, force: true });
  });
  return store;
}
