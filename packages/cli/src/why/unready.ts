import type { RestStore } from "@mooring/store";
import { unready } from "../client/unready.ts";
import { type Finding, finding, result } from "./finding.ts";

/** The same findings; below those that wait or have failed is what keeps the API server from storing anything. */
export async function withUnready(
  server: Pick<RestStore, "getText">,
  found: readonly Finding[],
): Promise<Finding[]> {
  if (found.every((root) => result(root) === "ok")) return [...found];
  const failed = (await unready(server)).map(({ name, why, next }) =>
    finding("failed", `API server: ${name}`, why, { next }),
  );
  return found.map((root) =>
    result(root) === "ok" ? root : { ...root, children: [...root.children, ...failed] },
  );
}
