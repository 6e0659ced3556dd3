import type { TestContext } from "node:test";
import type { ObjectStore } from "../object-store.ts";

/**
 * Gives a test an empty store that serves the kinds of `testRegistry()` and has the namespaces "default" and "other",
 * and cleans up after it with `t.after`.
 */
export type OpenStore = (t: TestContext) => Promise<ObjectStore>;
