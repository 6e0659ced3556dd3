import { type Condition, mutate } from "@mooring/store";
import type { Pool } from "../../api/pool.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";
import { condition } from "./conditions.ts";

const TYPE = "WritersHeld";

/** What a volume reports about its writers: undefined where it has no status yet. */
interface WritersReport {
  name: string;
  held: boolean | undefined;
}

/** Of a volume only this counts for its pool. One without the condition reports by that that its writers go on. */
export function writersReport({ metadata: { name }, status }: Volume): WritersReport {
  if (status === undefined) return { name, held: undefined };
  return { name, held: status.conditions?.find(({ type }) => type === TYPE)?.status === "True" };
}

/** Names of volumes that report something else about their writers than is true. */
export function unreportedVolumes(volumes: readonly WritersReport[], held: boolean): string[] {
  return volumes
    .filter((report) => report.held !== undefined && report.held !== held)
    .map(({ name }) => name);
}

/** Writes into each volume that its writers wait, or go on; its event comes once per change. */
export async function reportToVolumes(
  { store, host, events, signal }: AgentContext,
  pool: Pool,
  names: readonly string[],
): Promise<void> {
  const reported = pool.status?.conditions?.find(({ type }) => type === TYPE);
  if (reported === undefined) return;
  const put = (volume: Volume): Volume => {
    if (volume.status === undefined) return volume;
    const others = (volume.status.conditions ?? []).filter(({ type }) => type !== TYPE);
    const own: Condition = condition(volume.status, TYPE, reported, host.clock.now());
    return { ...volume, status: { ...volume.status, conditions: [...others, own] } };
  };
  for (const name of names) {
    const volume = await mutate(store, Volumes, { name }, { change: put, subresource: "status", signal });
    if (reported.status === "True") events.event(volume, "Warning", "WritersHeld", reported.message);
    else events.event(volume, "Normal", "WritersGoOn", "there is room in the pool again");
  }
}
