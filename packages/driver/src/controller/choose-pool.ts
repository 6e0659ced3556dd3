import { CsiError, type v1 } from "@mooring/csi";
import { type Pool, poolNodes, TOPOLOGY_NODE_KEY } from "@mooring/engine";
import { availableBytes, describeRoom, MAKE_ROOM } from "./capacity.ts";

export interface PoolWish {
  /** Name from the parameters. */
  pool: string | undefined;
  block: boolean;
  /** One node serves it to all others: its topology is a wish, not a must. */
  served?: boolean;
  size: bigint;
  requirement: v1.TopologyRequirement | undefined;
  /** Pool of the content source: clones never leave it. */
  sourcePool: string | undefined;
}

/**
 * The pool of a new volume: the first that fits, in the order of `preferred`, else any of `requisite`; among equals
 * the one with the most room. Throws RESOURCE_EXHAUSTED when a topology is possible but no pool there can serve.
 */
export function choosePool(pools: readonly Pool[], wish: PoolWish): Pool {
  const named = pools.filter((pool) => wish.pool === undefined || pool.metadata.name === wish.pool);
  if (named.length === 0 && wish.pool !== undefined) {
    const known = pools.map((pool) => pool.metadata.name).join(", ") || "none";
    throw CsiError.invalidArgument(`there is no pool "${wish.pool}"`, { hint: `Pools: ${known}.` });
  }
  if (wish.sourcePool !== undefined && wish.pool !== undefined && wish.pool !== wish.sourcePool) {
    throw CsiError.invalidArgument(
      `the source is in pool "${wish.sourcePool}", the volume is to be in "${wish.pool}"`,
      {
        hint: "Clones and restores stay in the pool of their source.",
      },
    );
  }
  const needsDevice = wish.block || wish.served === true;
  const kind = named.filter((pool) => !needsDevice || pool.spec.type !== "directory");
  if (named.length > 0 && kind.length === 0) {
    const without = wish.block ? "block volumes" : "volumes that several nodes can use at once";
    throw CsiError.invalidArgument(`pool "${named[0]?.metadata.name}" is a directory and has no ${without}`, {
      hint: "Use a pool of type xfs or btrfs.",
    });
  }
  const source = kind.filter(
    (pool) => wish.sourcePool === undefined || pool.metadata.name === wish.sourcePool,
  );
  const reachable = byTopology(source, wish);
  if (reachable.length === 0) {
    throw CsiError.resourceExhausted("no pool is reachable from the topology that was asked for", {
      hint: "Look at the Pool objects: which node has one, and is it ready?",
    });
  }
  const fitting = reachable.find((pool) => availableBytes(pool) >= wish.size);
  if (fitting === undefined) throw noRoom(reachable, wish.size);
  return fitting;
}

/** Pools in the order in which they are to be tried. */
function byTopology(pools: readonly Pool[], { requirement, served = false }: PoolWish): Pool[] {
  const roomiest = [...pools].sort((a, b) => {
    const difference = availableBytes(b) - availableBytes(a);
    return difference === 0n ? (a.metadata.name < b.metadata.name ? -1 : 1) : difference > 0n ? 1 : -1;
  });
  const { requisite = [], preferred = [] } = requirement ?? {};
  const near = roomiest.filter((pool) => requisite.some(reaches(pool)));
  const rest = requisite.length === 0 || served ? roomiest : [];
  const allowed = [...new Set([...near, ...rest])];
  const first = preferred.flatMap((topology) => allowed.filter((pool) => reaches(pool)(topology)));
  return [...new Set([...first, ...allowed])];
}

/** A topology with keys of others says nothing that a local pool could fulfil. */
export function reaches(pool: Pool): (topology: v1.Topology) => boolean {
  return ({ segments }) =>
    Object.entries(segments).every(
      ([key, value]) => key === TOPOLOGY_NODE_KEY && poolNodes(pool).includes(value),
    );
}

function noRoom(pools: readonly Pool[], size: bigint): CsiError {
  if (pools.every((pool) => pool.status?.ready !== true)) {
    const names = pools.map((pool) => pool.metadata.name).join(", ");
    return CsiError.unavailable(`pool ${names} is not ready`, {
      hint: "It is being opened, or its conditions say why it cannot be.",
    });
  }
  const room = pools.map(describeRoom).join("; ");
  return CsiError.resourceExhausted(`no pool has room for ${size} bytes (${room})`, { hint: MAKE_ROOM });
}
