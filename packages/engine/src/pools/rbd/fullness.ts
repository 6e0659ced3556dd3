import { wayToRoom } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";
import { listOf, objectOf, parse } from "./json.ts";
import { describePlace, type RbdPlace } from "./place.ts";

/** What a full cluster keeps waiting, until there is room or its client is killed; removals it lets through. */
const WAITING: ReadonlySet<string> = new Set([
  ...["create", "clone", "copy", "deep cp", "flatten", "rename", "resize", "snap create"],
  ...["trash mv", "trash restore", "group create", "group image", "group snap", "lock rm"],
]);

/**
 * Whether a command of `rbd` waits while the Ceph pool is full. In a namespace each does: before all else it looks for the namespace, by
 * an operation that the cluster takes for a write (16.2).
 */
export function waitsForRoom({ namespace }: RbdPlace, [first = "", second = ""]: readonly string[]): boolean {
  return namespace !== undefined || WAITING.has(first) || WAITING.has(`${first} ${second}`);
}

/** Whether the cluster takes nothing for this pool any more: of the JSON of `ceph osd pool ls detail`. */
export function isFullPool(json: string, { pool }: RbdPlace): boolean {
  const flags = listOf(parse(json))
    .map(objectOf)
    .find(({ pool_name }) => pool_name === pool)?.["flags_names"];
  return String(flags ?? "")
    .split(",")
    .includes("full");
}

/** What a full pool refuses. */
export class PoolFull extends EngineError {
  constructor(place: RbdPlace, cause?: unknown) {
    super(
      "RESOURCE_EXHAUSTED",
      `the Ceph pool of ${describePlace(place)} is full, and takes no more writes`,
      {
        hint: wayToRoom({ spec: { type: "rbd", path: place.conf, rbd: place } }),
        cause,
      },
    );
  }
}
