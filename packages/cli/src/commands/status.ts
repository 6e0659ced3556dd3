import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { readinessChecks } from "../doctor/readiness-checks.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { renderStatus } from "../status/render.ts";
import { statusReport } from "../status/report.ts";

async function status(options: ClientOptions & Output): Promise<void> {
  const server = await openClient(options);
  const report = await statusReport(server, new Date());
  report.troubles.unshift(...(await readinessChecks(server)));
  print(options, report, (wide) => renderStatus(report, wide));
  if (report.troubles.some(({ state }) => state === "fail")) process.exitCode = EXIT.negative;
}

/** `mooring status`: one screen of what there is, how full it is, and what is wrong. */
export function statusCommand(): Command {
  const command = new Command("status")
    .description("show nodes, pools, volumes, claims and what is wrong with them, on one screen")
    .option("--kubeconfig <file>", "how to reach the API server");
  return withOutput(command, { what: "it", wide: true }).action(status);
}
