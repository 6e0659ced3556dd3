import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { LocalStore, type Resource, ResourceRegistry } from "@mooring/store";

/** A store of these kinds, gone after the test. */
export async function storeOf(t: TestContext, kinds: readonly Resource[]): Promise<LocalStore> {
  const path = await mkdtemp(join(tmpdir(), "mooring-why-"));
  const registry = new ResourceRegistry(kinds.map((resource) => ({ resource, hasStatus: false })));
  const store = await LocalStore.open({ path, registry });
  t.after(async () => {
    await store.close();
    await rm(path, { recursive: true, force: true });
  });
  return store;
}
