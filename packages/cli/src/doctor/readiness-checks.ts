import type { RestStore } from "@mooring/store";
import { unready } from "../client/unready.ts";
import { type Check, check } from "./check.ts";

/** What the API server says of itself that is wrong. */
export async function readinessChecks(server: Pick<RestStore, "getText">): Promise<Check[]> {
  return (await unready(server)).map(({ name, why, next }) =>
    check(`API server: ${name}`, "fail", why, next),
  );
}
