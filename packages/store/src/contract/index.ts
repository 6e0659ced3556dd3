import { deletesContract } from "./deletes.ts";
import { listsContract } from "./lists.ts";
import type { OpenStore } from "./open-store.ts";
import { patchesContract } from "./patches.ts";
import { watchesContract } from "./watches.ts";
import { writesContract } from "./writes.ts";

export { type Shelf, Shelves, shelf, testRegistry, type Widget, Widgets, widget } from "./kinds.ts";

/** What every ObjectStore promises, as tests. `title` names the implementation. */
export function objectStoreContract(title: string, open: OpenStore): void {
  writesContract(title, open);
  patchesContract(title, open);
  deletesContract(title, open);
  listsContract(title, open);
  watchesContract(title, open);
}
