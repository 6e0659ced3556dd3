import type { TestContext } from "node:test";
import type { ObjectStore } from "../object-store.ts";
import { deletesContract } from "./deletes.ts";
import { listsContract } from "./lists.ts";
import { patchesContract } from "./patches.ts";
import { watchesContract } from "./watches.ts";
import { writesContract } from "./writes.ts";

export { type Shelf, Shelves, shelf, testRegistry, type Widget, Widgets, widget } from "./kinds.ts";

/**
 * Gives a test an empty store that knows the kinds of `testRegistry()` and has the namespaces "default" and "other",
 * and cleans up after it with `t.after`.
 */
export type OpenStore = (t: TestContext) => Promise<ObjectStore>;

/** What every ObjectStore promises, as tests. `title` names the implementation. */
export function objectStoreContract(title: string, open: OpenStore): void {
  writesContract(title, open);
  patchesContract(title, open);
  deletesContract(title, open);
  listsContract(title, open);
  watchesContract(title, open);
}
