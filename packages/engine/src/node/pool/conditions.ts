import type { Condition } from "@mooring/store";
import type { PoolStatus } from "../../api/pool.ts";
import type { PoolUsage } from "../../pools/backend.ts";

/** Parts of a pool at which its conditions change. */
const ALERTS = [
  { reason: "AlmostFull", from: 0.95 },
  { reason: "FillingUp", from: 0.85 },
] as const;

const WAY_OUT = "delete volumes or snapshots in it, or make it larger";

type State = Pick<Condition, "status" | "reason" | "message">;

/** The conditions of a pool that is open. A message has no number that changes all the time: it would be news each time. */
export function openConditions(
  before: PoolStatus | undefined,
  usage: PoolUsage,
  held: boolean,
  now: Date,
): Condition[] {
  return [
    condition(before, "Ready", { status: "True", reason: "Open", message: "the pool is open" }, now),
    condition(before, "SpaceLow", spaceLow(usage, held), now),
    condition(before, "WritersHeld", writersHeld(held), now),
  ];
}

/** What a small pool keeps for itself is more than a twentieth of it: with its writers held it is full whatever the parts are. */
function spaceLow({ totalBytes, freeBytes }: PoolUsage, held: boolean): State {
  const used = held ? 1 : totalBytes === 0 ? 0 : (totalBytes - freeBytes) / totalBytes;
  const alert = ALERTS.find(({ from }) => used >= from);
  if (alert === undefined) return { status: "False", reason: "EnoughSpace", message: "" };
  const message = `${held ? "all" : `more than ${alert.from * 100} %`} of the pool is used; ${WAY_OUT}`;
  return { status: "True", reason: alert.reason, message };
}

function writersHeld(held: boolean): State {
  if (!held) return { status: "False", reason: "RoomLeft", message: "" };
  const message = `the pool is full: writes to its volumes wait, and so does sync of the whole machine, until there is room; ${WAY_OUT}`;
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

/** What has changed, as events report it: reason, and whether it is a warning. */
export function news(before: readonly Condition[] | undefined, after: readonly Condition[]): News[] {
  return after.flatMap(({ type, status, reason, message }): News[] => {
    if (type === "Ready") return [];
    const old = before?.find((one) => one.type === type);
    if (old?.reason === reason || (old === undefined && status === "False")) return [];
    if (status === "True") return [{ type: "Warning", reason, message }];
    const gone = type === "WritersHeld" ? "the writers of the pool go on" : "the pool has enough space again";
    return [{ type: "Normal", reason, message: gone }];
  });
}
