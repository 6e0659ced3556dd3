import { InvalidArgumentError, Option } from "commander";
import { type Logger, pino } from "pino";
import { CommandError } from "../output/command-error.ts";

/**
 * Aborts with the first SIGINT or SIGTERM; a second one ends the process at once. From here on nobody has to read what
 * we write: a Ctrl-C also ends the `tee` that we write to, and must not keep us from cleaning up.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  for (const stream of [process.stdout, process.stderr]) stream.on("error", () => {});
  const stop = (name: string): void => {
    if (controller.signal.aborted) process.exit(130);
    process.stderr.write(`${name}: stopping (again to stop at once)\n`);
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
}

/** Pods and volumes are mounts and namespaces. */
export function requireRoot(command: string): void {
  if (process.getuid?.() === 0) return;
  throw new CommandError("pods and volumes are mounts and namespaces, which only root may make", {
    next: `sudo mooring ${command}`,
  });
}

export function poolOption(): Option {
  return new Option("--pool <type>", "kind of the node's own pool")
    .choices(["xfs", "btrfs", "directory"])
    .default("xfs");
}

/** Thin volumes: how much more a pool may promise than it has. */
export function overcommitOption(): Option {
  return new Option(
    "--pool-overcommit <factor>",
    "all sizes together may be so many times the size of the pool (default: 10, or as it is)",
  ).argParser((text: string) => {
    const factor = Number(text);
    if (/^\d+(\.\d+)?$/.test(text) && factor >= 1 && factor <= 1000) return factor;
    throw new InvalidArgumentError("a number from 1 (nothing more than there is) to 1000");
  });
}

export function logLevelOption(): Option {
  return new Option("--log-level <level>", "least level that is logged")
    .choices(["debug", "info", "warn", "error"])
    .default("info");
}

/** Logs go to stderr, at once. */
export function openLogger(level: string): Logger {
  return pino({ level }, pino.destination({ dest: 2, sync: true }));
}
