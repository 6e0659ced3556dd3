import { existsSync } from "node:fs";
import { basename, dirname, join } from "node:path";
import { listAll, mutate } from "@mooring/store";
import { isShared, type Pool, Pools } from "../../api/pool.ts";
import { EngineError } from "../../errors.ts";
import { poolsFolder } from "../../pools/remains.ts";
import type { AgentContext } from "../context.ts";
import { isPoolThere } from "./gone.ts";
import { layoutOf } from "./layout-of.ts";

type Starting = Pick<AgentContext, "store" | "nodeID" | "stateDir" | "signal" | "logger">;

/** What a state folder has, of whichever command. */
const STATE = ["store", "node-volumes", "node-name"];

/**
 * Pools below the state folder go where it goes: one that was moved or copied has them with it, while their objects still name the
 * folder before. What is there belongs to another one's state, and nothing may be written to it: throws FAILED_PRECONDITION when
 * the pool is there and not here.
 */
export async function followStateFolder(context: Starting): Promise<void> {
  const { store, nodeID, signal, logger } = context;
  const { items } = await listAll(store, Pools, { signal });
  for (const pool of items) {
    if (isShared(pool) || pool.spec.nodeID !== nodeID) continue;
    const here = pathHere(context, pool);
    if (here === undefined) continue;
    const { name } = pool.metadata;
    logger.info(
      { pool: name, before: pool.spec.path, here },
      "the state folder was moved, and this pool with it",
    );
    const change = ({ spec }: Pool): void => {
      spec.path = here;
    };
    await mutate(store, Pools, { name }, { change, signal });
  }
}

/** Where the pool is in this state folder; undefined when that is where its object has it, or when it is a folder of its own. */
function pathHere(context: Starting, pool: Pool): string | undefined {
  const { path } = pool.spec;
  const { name } = pool.metadata;
  const before = dirname(dirname(path));
  if (basename(path) !== name || poolsFolder(before) !== dirname(path)) return undefined;
  const here = join(poolsFolder(context.stateDir), name);
  const moved: Pool = { ...pool, spec: { ...pool.spec, path: here } };
  const [there, now] = [layoutOf(context, pool), layoutOf(context, moved)];
  if (there.folder === now.folder) return undefined;
  const isState = STATE.some((part) => existsSync(join(before, part)));
  // An operator's own folder that happens to have such a name.
  if (isPoolThere(there) && !isState) return undefined;
  if (isPoolThere(now)) return here;
  if (isState) throw elsewhere(context.stateDir, { name, path, before, here });
  return undefined;
}

function elsewhere(
  stateDir: string,
  { name, path, before, here }: { name: string; path: string; before: string; here: string },
): EngineError {
  const message = `pool ${name} is at ${path}, in another state folder than ${stateDir}, and not at ${here}`;
  return new EngineError("FAILED_PRECONDITION", message, {
    hint: `start with --state-dir ${before}, or put the pool's folder at ${here}`,
  });
}
