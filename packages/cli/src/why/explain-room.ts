import {
  isThickVolume,
  Pools,
  spaceLow,
  type Volume,
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
  const suspended = writersHeldMessage(pool);
  const grow = `delete claims or snapshots that are not needed, or: kubectl patch pool ${spec.pool} --type merge -p '{"spec":{"size":BYTES}}'`;
  const next = pool?.spec.rbd === undefined ? grow : wayToRoom(pool);
  if (suspended !== undefined) return [finding("failed", subject, suspended, { next })];
  const failing = isThickVolume(volume) ? undefined : writesFailMessage(pool);
  if (failing !== undefined) return [finding("failed", subject, failing, { next })];
  const failed = status?.conditions?.find(({ type, message }) => type === "WritesFail" && message !== "");
  if (failed !== undefined) return [finding("waiting", subject, failed.message, { next: CHECK })];
  const low = spaceLow(pool);
  if (low === undefined) return [];
  // A pool that does not suspend its writers fails them when it is full.
  return [finding(low.reason === "AlmostFull" ? "waiting" : "ok", subject, low.message, { next })];
}
