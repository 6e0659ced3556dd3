import { CsiError, type v1 } from "@mooring/csi";
import {
  canBeThick,
  canMigrate,
  hasImageFeatures,
  type Pool,
  poolNodes,
  TOPOLOGY_NODE_KEY,
} from "@mooring/engine";
import { describeBytes } from "@mooring/store";
import { availableBytes, describeRoom, roomHint } from "../objects/pool-room.ts";

/** What a new volume wants of its pool. */
export interface PoolWish {
  /** Name from the parameters. */
  pool: string | undefined;
  block: boolean;
  /** One node serves it to all others: its topology is a wish, not a must. */
  served?: boolean;
  /** Two nodes open it at once while its workload moves. */
  migratable?: boolean;
  /** All its room is set aside when it is made. */
  thick?: boolean;
  /** Its image has features of its own, as those in Ceph clusters do. */
  featured?: boolean;
  size: bigint;
  accessibilityRequirements: v1.TopologyRequirement | undefined;
  /** Pool of the content source: clones never leave it. */
  sourcePool: string | undefined;
}

/**
 * The pool of a new volume: the first that fits, in the order of `preferred`, else any of `requisite`; among equals
 * the one with the most room. Throws RESOURCE_EXHAUSTED when a topology is possible but no pool there can serve.
 */
export function choosePool(all: readonly Pool[], wish: PoolWish): Pool {
  const able = wish.featured === true ? cephPools(all, wish.pool) : all;
  const pools = wish.migratable === true ? sharedPools(able, wish.pool) : able;
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
  const thick = wish.thick === true;
  const thickable = kind.filter(({ spec }) => !thick || canBeThick(spec.type, spec.mode === "shared"));
  if (kind.length > 0 && thickable.length === 0) {
    const names = kind.map(({ metadata }) => `"${metadata.name}"`).join(", ");
    throw CsiError.invalidArgument(`pool ${names} has no thick volumes`, {
      hint: "Only a local pool of type xfs has. Use one, or thin volumes.",
    });
  }
  const source = thickable.filter(
    (pool) => wish.sourcePool === undefined || pool.metadata.name === wish.sourcePool,
  );
  const reachable = byTopology(source, wish);
  if (reachable.length === 0) {
    throw CsiError.resourceExhausted("no pool is reachable from the topology that was asked for", {
      hint: "Check the Pool objects: which node has one, and is it ready?",
    });
  }
  const [fitting] = reachable.filter((pool) => roomFor(pool, wish) >= wish.size);
  if (fitting === undefined) throw noRoom(reachable, wish);
  return fitting;
}

/** Pools whose images several nodes can open. Throws when the request names another one, or there is none. */
function sharedPools(pools: readonly Pool[], named: string | undefined): Pool[] {
  const shared = pools.filter(canMigrate);
  const local = pools.find(
    ({ metadata }) => metadata.name === named && !shared.some((p) => p.metadata.name === named),
  );
  if (shared.length > 0 && local === undefined) return shared;
  const what = local === undefined ? "there is no shared pool" : `pool "${named}" is on one node`;
  throw CsiError.invalidArgument(`${what}: a migratable volume needs one that several nodes reach`, {
    hint: "Start the nodes with --rbd-pool, and name that pool.",
  });
}

/** Pools whose images have features. Throws when the request names another one, or there is none. */
function cephPools(pools: readonly Pool[], named: string | undefined): Pool[] {
  const ceph = pools.filter(hasImageFeatures);
  const other = pools.find(
    ({ metadata }) => metadata.name === named && !ceph.some((p) => p.metadata.name === named),
  );
  if (ceph.length > 0 && other === undefined) return ceph;
  const what =
    other === undefined ? "there is no pool in a Ceph cluster" : `pool "${named}" is in no Ceph cluster`;
  throw CsiError.invalidArgument(`${what}: only images of Ceph have imageFeatures`, {
    hint: "Name a pool of type rbd, or leave the parameter out.",
  });
}

function roomFor(pool: Pool, { thick = false }: PoolWish): bigint {
  return availableBytes(pool)[thick ? "thick" : "thin"];
}

/** Pools in the order in which they are to be tried. */
function byTopology(pools: readonly Pool[], wish: PoolWish): Pool[] {
  const roomiest = [...pools].sort((a, b) => {
    const difference = roomFor(b, wish) - roomFor(a, wish);
    return difference === 0n ? (a.metadata.name < b.metadata.name ? -1 : 1) : difference > 0n ? 1 : -1;
  });
  const { accessibilityRequirements, served = false } = wish;
  const { requisite = [], preferred = [] } = accessibilityRequirements ?? {};
  const near = roomiest.filter((pool) => requisite.some(reaches(pool)));
  const rest = requisite.length === 0 || served ? roomiest : [];
  const allowed = [...new Set([...near, ...rest])];
  const first = preferred.flatMap((topology) => allowed.filter((pool) => reaches(pool)(topology)));
  return [...new Set([...first, ...allowed])];
}

/** A topology with keys of others has nothing that a local pool could fulfil. */
export function reaches(pool: Pool): (topology: v1.Topology) => boolean {
  return ({ segments }) =>
    Object.entries(segments).every(
      ([key, value]) => key === TOPOLOGY_NODE_KEY && poolNodes(pool).includes(value),
    );
}

function noRoom(pools: readonly Pool[], wish: PoolWish): CsiError {
  if (pools.every((pool) => pool.status?.ready !== true)) {
    const names = pools.map((pool) => pool.metadata.name).join(", ");
    return CsiError.unavailable(`pool ${names} is not ready`, {
      hint: "It is being opened, or its conditions show why it cannot be.",
    });
  }
  const room = pools.map((pool) => describeRoom(pool)[wish.thick === true ? "thick" : "thin"]).join("; ");
  const what = wish.thick === true ? "a thick volume" : "a volume";
  return CsiError.resourceExhausted(`no pool has room for ${what} of ${describeBytes(wish.size)} (${room})`, {
    hint: roomHint(...pools),
  });
}
