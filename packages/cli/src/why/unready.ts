import type { RestStore } from "@mooring/store";
import { unready } from "../client/unready.ts";
import { type Finding, finding } from "./finding.ts";

/**
 * The same findings; below each is what keeps the API server from storing anything. Also below one that is well: what is
 * wrong with it may be what could not be stored.
 */
export async function withUnready(
  server: Pick<RestStore, "getText">,
  found: readonly Finding[],
): Promise<Finding[]> {
  const failed = (await unready(server)).map(({ name, why, next }) =>
    finding("failed", `API server: ${name}`, why, { next }),
  );
  return found.map((root) => ({ ...root, children: [...root.children, ...failed] }));
}
