/**
 * One life of a node on which a group snapshot is made: `crash-child.ts DIR POOLTYPE`. Two members are mounted, one is
 * attached to nothing. Goes on where the last life was killed; ends with exit code 0 when nothing of it is left.
 */
import { mkdir } from "node:fs/promises";
import { join } from "node:path";
import { LocalStore, silentLogger } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import type { PoolType } from "../../../api/pool.ts";
import { startArbiter } from "../../../cluster/arbiter/index.ts";
import { startServices } from "../../../cluster/services/index.ts";
import { createHost } from "../../../host/create-host.ts";
import { engineRegistry, NODE, POOL } from "../../../testing/agent.ts";
import { armLife } from "../../../testing/passed.ts";
import { runPhases } from "../../../testing/run-phases.ts";
import { GIB } from "../../../testing/scratch.ts";
import { startAgent } from "../../index.ts";
import { groupStory } from "./story.ts";

const [dir = "", type = "xfs"] = process.argv.slice(2);
const ended = armLife(dir);
const host = createHost();
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const common = { store, logger: silentLogger, signal: stop.signal };
const agent = await startAgent({
  ...{ ...common, host, nodeID: NODE, stateDir: join(dir, "state") },
  pools: [{ name: POOL, type: type as PoolType, size: 2 * GIB }],
});
const arbiter = await startArbiter(common);
const services = await startServices(common);

await mkdir(join(dir, "mounts"), { recursive: true });
await runPhases(dir, groupStory({ store, host, dir, type }));
await nothingSleeps({ store });
stop.abort();
await Promise.all([agent.done, arbiter.done, services.done]);
await store.close();
await ended();
