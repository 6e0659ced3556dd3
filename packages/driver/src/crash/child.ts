import { writeFile } from "node:fs/promises";
import { armFailpoint } from "@mooring/store";
import { serveDriver } from "../serve.ts";

/**
 * The driver as a process that a test may kill: `child FOLDER POOL`. Says "ready" when the socket accepts calls;
 * at its end the failpoints that it has passed are in `passed.json` of the folder.
 */
const passed = armFailpoint(process.env["MOORING_FAILPOINT"]);
const [folder = "", pool = "xfs"] = process.argv.slice(2);
const line = (fields: object, message: string): void => {
  process.stderr.write(
    `${JSON.stringify(fields, (_, v) => (v instanceof Error ? v.stack : v))} ${message}\n`,
  );
};
const logger = { debug: () => {}, info: () => {}, warn: line, error: line, child: () => logger };
const stop = new AbortController();
process.once("SIGTERM", () => stop.abort());
const { done } = await serveDriver({
  endpoint: `unix://${folder}/csi.sock`,
  mode: "all",
  stateDir: `${folder}/state`,
  nodeID: "node-1",
  pool: { type: pool === "btrfs" ? "btrfs" : "xfs", size: 4 * 1024 ** 3 },
  logger,
  signal: stop.signal,
});
process.stdout.write("ready\n");
await done;
await writeFile(`${folder}/passed.json`, JSON.stringify([...new Set(passed)]));
