import { mkdtemp, rm } from "node:fs/promises";
import { tmpdir } from "node:os";
import { join } from "node:path";
import type { TestContext } from "node:test";
import { LocalStore, ResourceRegistry } from "@mooring/store";
import { WATCHED_KINDS } from "../doctor/object-checks.ts";

/** An empty store of the kinds that doctor reads, until the test ends. */
export async function watchedStore(t: TestContext): Promise<LocalStore> {
  const path = await mkdtemp(join(tmpdir(), "mooring-doctor-"));
  const registry = new ResourceRegistry(WATCHED_KINDS.map((resource) => ({ resource, hasStatus: true })));
  const store = await LocalStore.open({ path, registry });
  t.after(async () => {
    await store.close();
    await rm(path, { recursive: true });
  });
  return store;
}
