import { CsiError } from "@mooring/csi";
import { type Volume, writersHeldMessage } from "@mooring/engine";
import type { ObjectStore } from "@mooring/store";
import { findPool } from "./find.ts";
import { roomHint } from "./pool-room.ts";

/** A new writer would only wait in the kernel: it is refused, and let in when there is room in the pool again. */
export async function requireWritersNotHeld(
  store: ObjectStore,
  volume: Volume,
  signal: AbortSignal,
): Promise<void> {
  const pool = await findPool(store, volume.spec.pool, signal);
  if (writersHeldMessage(pool) === undefined) return;
  const message = `pool "${volume.spec.pool}" of volume "${volume.metadata.name}" is full: its writers are suspended until there is room`;
  throw CsiError.unavailable(message, { hint: roomHint(pool) });
}
