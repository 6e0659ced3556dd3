import { writeFile } from "node:fs/promises";
import { hostname } from "node:os";
import { startStandalone } from "@mooring/standalone";
import { parseQuantity } from "@mooring/store";
import { Command, Option } from "commander";
import { pino } from "pino";
import { CommandError } from "../output/command-error.ts";

interface UpOptions {
  stateDir: string;
  pool: "xfs" | "btrfs" | "directory";
  poolSize: string;
  listen: string;
  nodeName: string;
  readyFile?: string;
  logLevel: string;
}

function parseSize(text: string): number {
  try {
    return Number(parseQuantity(text));
  } catch (cause) {
    throw new CommandError(`--pool-size ${text} is not a size`, { next: "write it like 20Gi", cause });
  }
}

function listenAddress(text: string): { host: string; port: number } {
  const match = /^(.*):(\d{1,5})$/.exec(text);
  const port = Number(match?.[2]);
  if (match === null || port > 65535) {
    throw new CommandError(`--listen ${text} is not an address`, { next: "write it like 127.0.0.1:6443" });
  }
  return { host: match[1] === "" ? "127.0.0.1" : (match[1] ?? ""), port };
}

/** Aborts with the first SIGINT or SIGTERM; a second one ends the process at once. */
function stopSignal(): AbortSignal {
  const controller = new AbortController();
  const stop = (name: string): void => {
    if (controller.signal.aborted) process.exit(130);
    process.stderr.write(`${name}: stopping (again to stop at once)\n`);
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}

async function up(options: UpOptions): Promise<void> {
  if (process.getuid?.() !== 0) {
    throw new CommandError("pods and volumes are mounts and namespaces, which only root may make", {
      next: "sudo mooring up",
    });
  }
  const logger = pino({ level: options.logLevel }, pino.destination({ dest: 2, sync: true }));
  const signal = stopSignal();
  const running = await startStandalone({
    stateDir: options.stateDir,
    pool: { type: options.pool, size: parseSize(options.poolSize) },
    listen: listenAddress(options.listen),
    nodeName: options.nodeName,
    logger,
    signal,
  });
  process.stdout.write(`mooring is up\n  API         ${running.url}\n  kubeconfig  ${running.kubeconfig}\n`);
  process.stdout.write(`\nexport KUBECONFIG=${running.kubeconfig}\n`);
  if (options.readyFile !== undefined) {
    await writeFile(
      options.readyFile,
      `${JSON.stringify({ pid: process.pid, url: running.url, kubeconfig: running.kubeconfig })}\n`,
    );
  }
  await running.done;
}

/** `mooring up`: everything on one machine, in the foreground, until a signal. */
export function upCommand(): Command {
  return new Command("up")
    .description("start standalone: API server, controllers, driver and node agent, in the foreground")
    .option("--state-dir <folder>", "where everything is kept", "/var/lib/mooring")
    .addOption(
      new Option("--pool <type>", "kind of the default pool")
        .choices(["xfs", "btrfs", "directory"])
        .default("xfs"),
    )
    .option("--pool-size <size>", "size of the pool file, when it is made", "20Gi")
    .option("--listen <address>", "address of the API server", "127.0.0.1:6443")
    .option("--node-name <name>", "name of this node", hostname().toLowerCase())
    .option("--ready-file <file>", "written when everything is ready")
    .addOption(
      new Option("--log-level <level>", "least level that is logged")
        .choices(["debug", "info", "warn", "error"])
        .default("info"),
    )
    .action(up);
}
