import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";
import { unprintable } from "../output/unprintable.ts";

/** What asks a process to end: a key, a supervisor, a terminal that is closed. */
const STOP_SIGNALS = ["SIGINT", "SIGTERM", "SIGHUP"] as const;

/** A terminal and its shell, or a supervisor and its group, send two signals for one wish. */
const SAME_WISH_MS = 500;

/**
 * From here on SIGUSR1 and SIGUSR2 do nothing: else the one opens Node.js' debugger to every user of the machine, and the
 * other may end the process without its clean-up.
 */
function ignoreUserSignals(): void {
  for (const name of ["SIGUSR1", "SIGUSR2"]) process.on(name, () => {});
}

/**
 * Aborts with the first of {@link STOP_SIGNALS}; a second one ends the process at once. From here on no reader is needed of
 * what we write: a Ctrl-C also ends the `tee` that we write to, and must not keep us from cleaning up. `report`: says which
 * signal it was; default: a line on stderr.
 */
export function stopSignal(report: (signal: string) => void = printSignal): AbortSignal {
  const controller = new AbortController();
  process.stderr.on("error", () => {});
  process.stdout.on("error", warnOnce());
  let first = 0;
  const stop = (name: string): void => {
    if (controller.signal.aborted) {
      if (name !== "SIGHUP" && performance.now() - first > SAME_WISH_MS) process.exit(EXIT.interrupted);
      return;
    }
    first = performance.now();
    report(name);
    controller.abort();
  };
  for (const name of STOP_SIGNALS) process.on(name, stop);
  ignoreUserSignals();
  return controller.signal;
}

/** A process that serves until {@link stopSignal}, or until something fails behind its start. */
export class Foreground {
  readonly #end = new AbortController();
  readonly signal: AbortSignal = this.#end.signal;

  constructor() {
    stopSignal().addEventListener("abort", () => this.#end.abort(), { once: true });
  }

  /**
   * Does what follows the start, and waits for the end. Where it fails what runs is stopped first: it would serve on, and who waits for it
   * would never hear of it.
   */
  async serve({ done }: { done: Promise<void> }, announce: () => Promise<void>): Promise<void> {
    try {
      await announce();
    } catch (error) {
      this.#end.abort();
      await done;
      throw error;
    }
    await done;
  }
}

function printSignal(name: string): void {
  process.stderr.write(`${name}: stopping (again to stop at once)\n`);
}

/** Where a process is to be found is printed once: who does not find that there reads why. */
function warnOnce(): (error: NodeJS.ErrnoException) => void {
  let isWarned = false;
  return (error) => {
    if (isWarned || error.code === "EPIPE") return;
    isWarned = true;
    const { message, next } = unprintable(error);
    process.stderr.write(`warning: ${message}\nnext: ${next}\n`);
  };
}

/** Pods and volumes are mounts and namespaces. */
export function requireRoot(command: string): void {
  if (process.getuid?.() === 0) return;
  throw new CommandError("pods and volumes are mounts and namespaces, which only root may make", {
    next: `sudo mooring ${command}`,
  });
}
