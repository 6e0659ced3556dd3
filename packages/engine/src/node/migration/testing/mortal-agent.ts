/**
 * A node's agent in a process of its own, to be killed: `mortal-agent.ts URL DIR NODE OPTIONS`, these as
 * {@link OfNodes} in JSON. Says `ready` once it runs, and runs until it is killed.
 */
import { setMaxListeners } from "node:events";
import { join } from "node:path";
import { RestStore, silentLogger } from "@mooring/store";
import { createHost } from "../../../host/create-host.ts";
import { startAgent } from "../../index.ts";
import type { OfNodes } from "./stage.ts";

const [server = "", dir = "", nodeID = "", ofNodes = "{}"] = process.argv.slice(2);
const store = new RestStore({ server, tls: {}, namespace: "default" });
const stop = new AbortController();
setMaxListeners(0, stop.signal);
await startAgent({
  ...{ store, host: createHost(), nodeID, stateDir: join(dir, nodeID), logger: silentLogger },
  ...(JSON.parse(ofNodes) as OfNodes),
  signal: stop.signal,
});
process.stdout.write("ready\n");
