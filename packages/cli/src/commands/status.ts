import { defined, type RestStore } from "@mooring/store";
import { Command } from "commander";
import { type ClientOptions, openClient } from "../client/client.ts";
import { readinessChecks } from "../doctor/readiness-checks.ts";
import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { type Output, print, withOutput } from "../output/print.ts";
import { renderStatus } from "../status/render.ts";
import { statusReport } from "../status/report.ts";

async function status(options: ClientOptions & Output): Promise<void> {
  const server = await openClient(options);
  const report = await statusReport(server, new Date()).catch(async (error: unknown) => {
    throw (await ownTrouble(server)) ?? error;
  });
  report.troubles.unshift(...(await readinessChecks(server)));
  print(options, report, (wide) => renderStatus(report, wide));
  if (report.troubles.some(({ state }) => state === "fail")) process.exitCode = EXIT.negative;
}

/** What the server says of itself that is wrong: it is why its objects cannot be read. */
async function ownTrouble(server: RestStore): Promise<CommandError | undefined> {
  const [first] = await readinessChecks(server).catch(() => []);
  if (first === undefined) return undefined;
  const { check, detail, next } = first;
  return new CommandError(`${check}: ${detail}`, { ...defined({ next }), exitCode: EXIT.negative });
}

/** `mooring status`: one screen of what there is, how full it is, and what is wrong. */
export function statusCommand(): Command {
  const command = new Command("status")
    .description("show nodes, pools, volumes, claims and what is wrong with them, on one screen")
    .option("--kubeconfig <file>", "how to reach the API server");
  return withOutput(command, { what: "it", wide: true }).action(status);
}
