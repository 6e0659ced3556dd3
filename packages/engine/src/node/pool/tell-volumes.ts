import { type Condition, mutate } from "@mooring/store";
import type { Pool } from "../../api/pool.ts";
import { type Volume, Volumes } from "../../api/volume.ts";
import type { AgentContext } from "../context.ts";
import { condition } from "./conditions.ts";

const TYPE = "WritersHeld";

/** What a volume says about its writers: undefined where it says nothing of itself yet. */
interface SaidOfWriters {
  name: string;
  held: boolean | undefined;
}

/** Of a volume only this counts for its pool. One that was never held says nothing, which is that its writers go on. */
export function saidOfWriters({ metadata: { name }, status }: Volume): SaidOfWriters {
  if (status === undefined) return { name, held: undefined };
  return { name, held: status.conditions?.find(({ type }) => type === TYPE)?.status === "True" };
}

/** Names of volumes that say something else about their writers than is true. */
export function untoldVolumes(volumes: readonly SaidOfWriters[], held: boolean): string[] {
  return volumes.filter((said) => said.held !== undefined && said.held !== held).map(({ name }) => name);
}

/** Writes into each volume that its writers wait, or go on; its event comes once per change. */
export async function tellVolumes(
  { store, host, events, signal }: AgentContext,
  pool: Pool,
  names: readonly string[],
): Promise<void> {
  const said = pool.status?.conditions?.find(({ type }) => type === TYPE);
  if (said === undefined) return;
  const put = (volume: Volume): Volume => {
    if (volume.status === undefined) return volume;
    const others = (volume.status.conditions ?? []).filter(({ type }) => type !== TYPE);
    const own: Condition = condition(volume.status, TYPE, said, host.clock.now());
    return { ...volume, status: { ...volume.status, conditions: [...others, own] } };
  };
  for (const name of names) {
    const volume = await mutate(store, Volumes, { name }, { change: put, subresource: "status", signal });
    if (said.status === "True") events.event(volume, "Warning", "WritersHeld", said.message);
    else events.event(volume, "Normal", "WritersGoOn", "there is room in the pool again");
  }
}
