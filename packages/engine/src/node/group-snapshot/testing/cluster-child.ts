/**
 * One part of a cluster in a process of its own, to be killed: `cluster-child.ts coordinator URL` or
 * `cluster-child.ts agent URL STATEDIR NODE POOL TYPE [SHAREDFOLDER]`. Says `ready` once it runs, and runs until it is killed.
 */
import { setMaxListeners } from "node:events";
import { RestStore, silentLogger } from "@mooring/store";
import type { PoolType } from "../../../api/pool.ts";
import { startArbiter } from "../../../cluster/arbiter/index.ts";
import { startServices } from "../../../cluster/services/index.ts";
import { createHost } from "../../../host/create-host.ts";
import { CLUSTER_LEASES } from "../../../testing/cluster.ts";
import { GIB } from "../../../testing/scratch.ts";
import { startAgent } from "../../index.ts";

const [part = "", server = "", stateDir = "", nodeID = "", name = "", type = "xfs", path] =
  process.argv.slice(2);
const store = new RestStore({ server, tls: {}, namespace: "default" });
const stop = new AbortController();
setMaxListeners(0, stop.signal);
const common = { store, logger: silentLogger, signal: stop.signal };
if (part === "agent") {
  const own = { name, type: type as PoolType };
  const pools = [path === undefined ? { ...own, size: 2 * GIB } : { ...own, shared: true, path }];
  const leases = path === undefined ? {} : { leases: CLUSTER_LEASES };
  await startAgent({ ...common, host: createHost(), nodeID, stateDir, pools, ...leases });
} else {
  await startArbiter(common);
  await startServices(common);
}
process.stdout.write("ready\n");
