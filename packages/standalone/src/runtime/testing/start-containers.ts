import { text } from "node:stream/consumers";
import { silentLogger } from "@mooring/store";
import { createProcessRuntime } from "../process-runtime.ts";
import type { ContainerConfig } from "../runtime.ts";

/** Starts the containers that standard input describes, or only prepares that, prints so, and waits to be killed. */
const runtime = await createProcessRuntime({
  stateDir: process.env.STATE_DIR ?? "",
  logger: silentLogger,
});
const configs: ContainerConfig[] = JSON.parse(await text(process.stdin));
for (const config of configs) {
  if (process.env.PREPARE_ONLY === "1") runtime.prepareStart(config);
  else await runtime.start(config);
}
process.stdout.write("started\n");
setInterval(() => {}, 60_000);
