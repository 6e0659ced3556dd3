import { join } from "node:path";
import { isDeepStrictEqual } from "node:util";
import { apiVersionOf, isAlreadyExists, isForbidden, mutate } from "@mooring/store";
import { isShared, type Pool, Pools } from "../../api/pool.ts";
import { DEFAULT_POOL_BYTES } from "../../pools/backing-file.ts";
import type { AgentContext } from "../context.ts";
import type { AgentPool } from "../options.ts";
import { askedSize, askForSize, describeLarger } from "./asked-size.ts";

/** What the agent's start needs of it. */
type Starting = Pick<AgentContext, "store" | "nodeID" | "stateDir" | "signal" | "logger" | "events">;

/**
 * Makes the object of a pool that this node is started with. In one that is there, size may grow, and limits that are set here
 * change. Where the API server lets no node change a shared pool, its own settings count, and an event says what differs.
 */
export async function ensurePool(context: Starting, asked: AgentPool): Promise<void> {
  const { store, nodeID, stateDir, signal } = context;
  const { name, path = join(stateDir, "pools", name), shared = false, ...rest } = asked;
  // Set once and for all: what a later start does not set stays as it is.
  const size: { size?: number } =
    shared || rest.type === "directory" ? {} : { size: rest.size ?? DEFAULT_POOL_BYTES };
  const object: Pool = {
    apiVersion: apiVersionOf(Pools),
    kind: Pools.kind,
    metadata: { name, ...(size.size === undefined ? {} : { annotations: askedSize(size.size) }) },
    spec: shared ? { ...rest, mode: "shared", path } : { ...rest, ...size, nodeID, path },
  };
  try {
    await store.create(Pools, object, { signal });
  } catch (error) {
    if (!isAlreadyExists(error)) throw error;
    await changePool(context, { ...asked, path });
  }
}

async function changePool(context: Starting, asked: AgentPool & { path: string }): Promise<void> {
  const { store, signal, logger } = context;
  const { name } = asked;
  const change = (pool: Pool): void => applyTo(pool, asked);
  try {
    const pool = await mutate(store, Pools, { name }, { change, signal });
    const { type } = pool.spec;
    reportLarger(context, pool, asked.size);
    if (type !== asked.type)
      logger.warn({ pool: name, type, asked: asked.type }, "the pool exists with another type and stays so");
  } catch (error) {
    if (!isForbidden(error)) throw error;
    const pool = await store.get(Pools, { name }, signal);
    if (!isShared(pool)) throw error;
    reportDifference(context, pool, change);
  }
}

/** It was made larger by hand since it was asked for last: the start goes on, and says so each time. */
function reportLarger({ events, logger }: Starting, pool: Pool, size: number | undefined): void {
  const message = size === undefined ? undefined : describeLarger(pool, size);
  if (message === undefined) return;
  logger.warn({ pool: pool.metadata.name }, message);
  events.event(pool, "Warning", "SettingsDiffer", message);
}

function applyTo(pool: Pool, { type, path, rbd, size, overcommit, reserve }: AgentPool & { path: string }) {
  if (rbd !== undefined && pool.spec.type === type) {
    pool.spec.path = path;
    pool.spec.rbd = rbd;
  }
  if (size !== undefined) askForSize(pool, size);
  if (overcommit !== undefined) pool.spec.overcommit = overcommit;
  if (reserve !== undefined) pool.spec.reserve = reserve;
}

/** A node may not say what holds for others as well, and has to go on without: all its other pools are its own. */
function reportDifference(
  { events, logger, nodeID }: Starting,
  pool: Pool,
  change: (pool: Pool) => void,
): void {
  const wanted = structuredClone(pool);
  change(wanted);
  const spec = Object.fromEntries(
    Object.entries(wanted.spec).filter(
      ([field, value]) => !isDeepStrictEqual(value, pool.spec[field as keyof Pool["spec"]]),
    ),
  );
  const { name } = pool.metadata;
  const patch = `kubectl patch pool ${name} --type=merge -p '${JSON.stringify({ spec })}'`;
  const message = `node ${nodeID} is started with other settings, and goes on with the pool's own, as no node changes what others have as well; to change them: ${patch}`;
  logger.warn({ pool: name, spec }, message);
  events.event(pool, "Warning", "SettingsDiffer", message);
}
