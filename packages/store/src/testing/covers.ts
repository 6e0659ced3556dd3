import { executionAsyncResource } from "node:async_hooks";
import { appendFileSync } from "node:fs";

/** What node:test runs a test or a suite in: its title, and what it is in. Only the file's root has no `parent`. */
interface Running {
  name: string;
  parent: Running | null;
}

/**
 * Records which requirements of docs/requirements.tsv the test proves whose body this is the beginning of, or every test of a
 * suite: `covers("CSI-112", "CSI-113")`. They are proved when it passes. Costs nothing where the runner does not record it.
 */
export function covers(...ids: string[]): void {
  const path = pathOf(executionAsyncResource());
  const results = process.env["MOORING_COVERS"];
  if (results !== undefined) appendFileSync(results, `${JSON.stringify({ path, ids })}\n`);
}

/** Titles from the outermost to the innermost. */
function pathOf(resource: object): string[] {
  const titles: string[] = [];
  for (let at: unknown = resource; isRunning(at) && at.parent !== null; at = at.parent)
    titles.unshift(at.name);
  if (titles.length === 0)
    throw new Error("covers() belongs at the beginning of a test, before anything is awaited");
  return titles;
}

function isRunning(value: unknown): value is Running {
  return typeof value === "object" && value !== null && "name" in value && "parent" in value;
}
