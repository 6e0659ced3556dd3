import { CommandError } from "../output/command-error.ts";
import { unprintable } from "../output/unprintable.ts";

/**
 * Aborts with the first SIGINT or SIGTERM; a second one ends the process at once. From here on nobody has to read what
 * we write: a Ctrl-C also ends the `tee` that we write to, and must not keep us from cleaning up.
 */
export function stopSignal(): AbortSignal {
  const controller = new AbortController();
  process.stderr.on("error", () => {});
  process.stdout.on("error", warnOnce());
  const stop = (name: string): void => {
    if (controller.signal.aborted) process.exit(130);
    process.stderr.write(`${name}: stopping (again to stop at once)\n`);
    controller.abort();
  };
  process.on("SIGINT", stop);
  process.on("SIGTERM", stop);
  return controller.signal;
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
