import {
  isThickVolume,
  type Pool,
  Pools,
  spaceLow,
  type Volume,
  wayToDiskRoom,
  wayToRoom,
  writersHeldMessage,
  writesFailMessage,
} from "@mooring/engine";
import { type Context, read } from "./context.ts";
import { type Finding, finding } from "./finding.ts";
import { endItsPods } from "./pool-users.ts";

const CHECK =
  "check what the programs that use the volume have written since, and restore a snapshot if need be";

/** What a volume's pool reports of itself and its room; nothing while it is open and there is enough. */
export async function explainRoom(context: Context, volume: Volume): Promise<Finding[]> {
  const { spec, status } = volume;
  const pool = await read(context, Pools, { name: spec.pool });
  const subject = `Pool ${spec.pool}`;
  if (pool?.status?.ready === false) {
    const why = pool.status.conditions?.find(({ type }) => type === "Ready")?.message;
    const next = (await endItsPods(context, pool)) ?? `kubectl describe pool ${spec.pool}`;
    return [finding("failed", subject, `is not ready: ${why ?? "it is being opened"}`, { next })];
  }
  const stops = poolStops(pool);
  if (stops !== undefined && !(isThickVolume(volume) && writersHeldMessage(pool) === undefined))
    return [stops];
  const failed = status?.conditions?.find(({ type, message }) => type === "WritesFail" && message !== "");
  if (failed !== undefined) return [finding("waiting", subject, failed.message, { next: CHECK })];
  return lowRoom(pool);
}

/** What a pool reports of its room, for who asks about the pool itself. */
export function explainPoolRoom(pool: Pool): Finding | undefined {
  return poolStops(pool) ?? lowRoom(pool)[0];
}

/** Writes wait in the pool, or fail. */
function poolStops(pool: Pool | undefined): Finding | undefined {
  const message = writersHeldMessage(pool) ?? writesFailMessage(pool);
  if (pool === undefined || message === undefined) return undefined;
  return finding("failed", `Pool ${pool.metadata.name}`, message, { next: nextRoom(pool) });
}

/** A pool that does not suspend its writers fails them when it is full. */
function lowRoom(pool: Pool | undefined): Finding[] {
  const low = spaceLow(pool);
  if (pool === undefined || low === undefined) return [];
  const state = low.reason === "AlmostFull" ? "waiting" : "ok";
  return [finding(state, `Pool ${pool.metadata.name}`, low.message, { next: nextRoom(pool) })];
}

function nextRoom(pool: Pool): string {
  const onDisk = wayToDiskRoom(pool);
  if (onDisk !== undefined) return onDisk;
  if (pool.spec.rbd !== undefined) return wayToRoom(pool);
  return `delete claims or snapshots that are not needed, or: kubectl patch pool ${pool.metadata.name} --type merge -p '{"spec":{"size":BYTES}}'`;
}
