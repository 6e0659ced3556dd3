import {
  type Pool,
  spaceLow,
  wayToDiskRoom,
  wayToRoom,
  writersHeldMessage,
  writesFailMessage,
} from "@mooring/engine";
import { describeBytes } from "@mooring/store";
import { isWithoutNode, withoutNode } from "../why/explain-pool.ts";
import { type Check, check } from "./check.ts";

const MAKE_ROOM =
  "kubectl delete the claims or snapshots that are not needed, or make the pool larger (docs/tasks/full-pools.md)";

/** Whether a pool is open, and whether there is room in it. `wayOut`: what to do where it is not, if that is known. */
export function poolCheck(pool: Pool, wayOut?: string): Check {
  const { metadata, status } = pool;
  const name = `Pool ${metadata.name}`;
  if (isWithoutNode(pool)) {
    const { message, next } = withoutNode(pool);
    return check(name, "fail", message, next);
  }
  const open = status?.conditions?.find(({ type }) => type === "Ready");
  // Open, and yet it could not be read: of a cluster that does not respond.
  const silent = open !== undefined && open.reason !== "Open";
  if (status?.ready !== true || silent) {
    const next = wayOut ?? `kubectl describe pool ${metadata.name}`;
    return check(name, "fail", open?.message ?? "not ready", next);
  }
  const { freeBytes = 0, thickBytes = 0, totalBytes = 0 } = status;
  const thick = thickBytes === 0 ? "" : `, ${describeBytes(thickBytes)} set aside for thick volumes`;
  const room = `${describeBytes(freeBytes)} of ${describeBytes(totalBytes)} free${thick}`;
  const makeRoom = wayToDiskRoom(pool) ?? (pool.spec.rbd === undefined ? MAKE_ROOM : wayToRoom(pool));
  const suspended = writersHeldMessage(pool) ?? writesFailMessage(pool);
  if (suspended !== undefined) return check(name, "fail", `${room}: ${suspended}`, makeRoom);
  const low = spaceLow(pool);
  if (low !== undefined) return check(name, "warn", `${room}: ${low.message}`, makeRoom);
  return check(name, "ok", room);
}
