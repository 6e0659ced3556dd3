import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { EXIT } from "../output/exit-codes.ts";
import { renderStatus } from "../status/render.ts";
import { statusReport } from "../status/report.ts";

interface StatusOptions extends ClientOptions {
  json?: boolean;
}

async function status(options: StatusOptions): Promise<void> {
  const report = await statusReport(await openClient(options), new Date());
  process.stdout.write(options.json === true ? `${JSON.stringify(report, null, 2)}\n` : renderStatus(report));
  if (report.troubles.some(({ state }) => state === "fail")) process.exitCode = EXIT.negative;
}

/** `mooring status`: one screen of what there is, how full it is, and what is wrong. */
export function statusCommand(): Command {
  return new Command("status")
    .description("show nodes, pools, volumes, claims and what is wrong with them, on one screen")
    .option("--kubeconfig <file>", "how to reach the API server")
    .option("--json", "print it as JSON")
    .action(status);
}
