import { afterFiles } from "../../support/at-end.ts";
import { Nodes } from "./world.ts";

let pair: Promise<Nodes> | undefined;

afterFiles(async () => {
  await (await pair)?.dispose();
});

/**
 * Machines `a` and `b` with a shared pool: all suites of a process have the same ones, and leave them as they found them.
 * `scripts/lib/tests/lanes.mjs` says which files run in one process.
 */
export function pairOfNodes(): Promise<Nodes> {
  pair ??= Nodes.sharing(["a", "b"]);
  return pair;
}
