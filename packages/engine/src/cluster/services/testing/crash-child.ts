/**
 * One life of a node with its arbiter and data services: `crash-child.ts DIR POOLTYPE`. Has every service do its work once, and
 * goes on where the last life was killed. Ends with exit code 0 when nothing of it is left, no ticket either.
 */
import { join } from "node:path";
import { LocalStore, silentLogger } from "@mooring/store";
import { nothingSleeps } from "@mooring/store/testing";
import type { PoolType } from "../../../api/pool.ts";
import { createHost } from "../../../host/create-host.ts";
import { startAgent } from "../../../node/index.ts";
import { engineRegistry, NODE, POOL } from "../../../testing/agent.ts";
import { armLife } from "../../../testing/passed.ts";
import { runPhases } from "../../../testing/run-phases.ts";
import { GIB } from "../../../testing/scratch.ts";
import { startArbiter } from "../../arbiter/index.ts";
import { startServices } from "../index.ts";
import { story } from "./story.ts";

const [dir = "", type = "xfs"] = process.argv.slice(2);
const ended = armLife(dir);
const host = createHost();
const stateDir = join(dir, "state");
const stop = new AbortController();
const store = await LocalStore.open({ path: join(dir, "store"), registry: engineRegistry() });
const common = { store, logger: silentLogger, signal: stop.signal };
const agent = await startAgent({
  ...{ ...common, host, nodeID: NODE, stateDir },
  pools: [{ name: POOL, type: type as PoolType, size: 2 * GIB }],
  // The story's other nodes are far away.
  trustedNetworks: ["0.0.0.0/0"],
});
const arbiter = await startArbiter(common);
const services = await startServices(common);

await runPhases(dir, story({ store, host, block: type !== "directory", stateDir }));
await nothingSleeps({ store });
stop.abort();
await Promise.all([agent.done, arbiter.done, services.done]);
await store.close();
await ended();
