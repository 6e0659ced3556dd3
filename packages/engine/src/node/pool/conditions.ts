import type { Condition } from "@mooring/store";
import {
  DISK_FULL,
  isShared,
  type Pool,
  type PoolStatus,
  spaceLow as spaceLowOf,
  wayToRoom,
  writesFailMessage,
} from "../../api/pool.ts";
import type { PoolUsage } from "../../pools/backend.ts";

/** Parts of a pool at which its conditions change. */
const ALERTS = [
  { reason: "AlmostFull", from: 0.95 },
  { reason: "FillingUp", from: 0.85 },
] as const;
/** By so much less a level is left: what is written and removed at the level would be news all the time, to each claim. */
const BACK = 0.01;

const MIB = 1024 ** 2;
/** Bytes: with less in a pool writes into thin volumes fail, and with this they go on. What is between changes nothing. */
const [NOTHING_LEFT, ROOM_AGAIN] = [4 * MIB, 16 * MIB];

type State = Pick<Condition, "status" | "reason" | "message">;

/** The conditions of a pool that is open. A message has no number that changes all the time: it would be news each time. */
export function openConditions(pool: Pool, usage: PoolUsage, suspended: boolean, now: Date): Condition[] {
  const before: PoolStatus | undefined = pool.status;
  return [
    condition(before, "Ready", { status: "True", reason: "Open", message: "the pool is open" }, now),
    condition(before, "SpaceLow", spaceLow(pool, usage, suspended), now),
    condition(before, "WritersHeld", writersHeld(pool, suspended), now),
    condition(before, "WritesFail", writesFail(pool, usage, suspended), now),
  ];
}

/** Programs in folders of a disk see its end by themselves; what writes into an image hears of it when it syncs, or never. */
function writesFail(pool: Pool, { freeBytes, keptBytes = 0, disk }: PoolUsage, suspended: boolean): State {
  const left = freeBytes + keptBytes;
  const least = writesFailMessage(pool) === undefined ? NOTHING_LEFT : ROOM_AGAIN;
  if (suspended || isShared(pool) || pool.spec.type === "directory" || left >= least)
    return { status: "False", reason: "RoomLeft", message: "" };
  const lost = "writes into thin volumes fail, and what is written there without fsync is lost";
  return disk === undefined
    ? {
        ...{ status: "True", reason: "PoolFull" },
        message: `nothing is left in the pool: ${lost}; ${wayToRoom(pool)}`,
      }
    : {
        status: "True",
        reason: DISK_FULL,
        message: `the disk of ${disk}, below the pool, is full: ${lost}; make room there`,
      };
}

/** What a small pool keeps for itself is more than a twentieth of it: with its writers suspended it is full whatever the parts are. */
function spaceLow(pool: Pool, { totalBytes, freeBytes, disk }: PoolUsage, suspended: boolean): State {
  const used = suspended ? 1 : totalBytes === 0 ? 0 : (totalBytes - freeBytes) / totalBytes;
  const before = ALERTS.find(({ reason }) => reason === spaceLowOf(pool)?.reason)?.from ?? 0;
  const alert = ALERTS.find(({ from }) => used >= (from <= before ? from - BACK : from));
  if (alert === undefined) return { status: "False", reason: "EnoughSpace", message: "" };
  const least = used >= alert.from ? alert.from : alert.from - BACK;
  const part = suspended ? "all" : `more than ${Math.round(least * 100)} %`;
  const message =
    disk === undefined
      ? `${part} of the pool is used; ${wayToRoom(pool)}`
      : `the disk of ${disk}, below the pool, has less left than the pool; make room there`;
  return { status: "True", reason: alert.reason, message };
}

function writersHeld(pool: Pool, suspended: boolean): State {
  if (!suspended) return { status: "False", reason: "RoomLeft", message: "" };
  const { rbd } = pool.spec;
  const who =
    rbd === undefined
      ? "the pool is full: writes to its volumes wait, and so does sync of the whole machine"
      : `the Ceph pool ${rbd.pool} is full: the cluster keeps writes to its volumes waiting`;
  const message = `${who}, until there is room; ${wayToRoom(pool)}`;
  return { status: "True", reason: "PoolFull", message };
}

/** Keeps the time of the last change of its status. */
export function condition(
  before: { conditions?: Condition[] } | undefined,
  type: string,
  state: State,
  now: Date,
): Condition {
  const old = before?.conditions?.find((one) => one.type === type);
  const lastTransitionTime =
    old?.status === state.status ? old.lastTransitionTime : now.toISOString().replace(/\.\d+Z$/, "Z");
  return { type, ...state, lastTransitionTime };
}

/** Same types, statuses and reasons. */
export function sameConditions(a: readonly Condition[] | undefined, b: readonly Condition[]): boolean {
  const text = (all: readonly Condition[]): string =>
    all
      .map(({ type, status, reason }) => `${type} ${status} ${reason}`)
      .sort()
      .join("\n");
  return text(a ?? []) === text(b);
}

interface News {
  type: "Normal" | "Warning";
  reason: string;
  message: string;
}

/** What is said of a condition that is over. */
const OVER: Readonly<Record<string, string>> = {
  SpaceLow: "the pool has enough space again",
  WritersHeld: "the writers of the pool go on",
  WritesFail: "the pool has room for writes again",
};

/** What has changed, as events report it: reason, and whether it is a warning. */
export function news(before: readonly Condition[] | undefined, after: readonly Condition[]): News[] {
  return after.flatMap(({ type, status, reason, message }): News[] => {
    if (type === "Ready") return [];
    const old = before?.find((one) => one.type === type);
    if (old?.reason === reason || (old === undefined && status === "False")) return [];
    if (status === "True") return [{ type: "Warning", reason, message }];
    return [{ type: "Normal", reason, message: OVER[type] ?? "" }];
  });
}
