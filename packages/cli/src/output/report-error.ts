import { StatusError, StoreOpenError } from "@mooring/store";
import { CommandError } from "./command-error.ts";
import { EXIT } from "./exit-codes.ts";

interface Told {
  message: string;
  next?: string;
  exitCode: number;
}

/** Node's codes for "nobody answers there". */
const UNREACHABLE = new Set(["ECONNREFUSED", "ECONNRESET", "ENOTFOUND", "EHOSTUNREACH", "ETIMEDOUT"]);

/** What a person does about a state folder that cannot be opened. */
const OPEN_NEXT: Readonly<Record<string, (pid: number | undefined) => string>> = {
  Locked: (pid) =>
    `stop that process${pid === undefined ? "" : ` (kill ${pid})`}, or use another --state-dir`,
  FutureFormat: () => "use the version of Mooring that wrote it, or a newer one",
};

function cannotOpen({ message, reason, pid }: StoreOpenError): Told {
  const next = OPEN_NEXT[reason]?.(pid) ?? "restore the state folder from a copy, or use another --state-dir";
  return { message, next, exitCode: reason === "Locked" ? EXIT.busy : EXIT.usage };
}

function unreachable(message: string): Told {
  return {
    message: `the API server does not answer (${message})`,
    next: "start it with `mooring up`, or name another kubeconfig with --kubeconfig",
    exitCode: EXIT.unreachable,
  };
}

function tell(error: unknown): Told {
  if (error instanceof CommandError) {
    return {
      message: error.message,
      exitCode: error.exitCode,
      ...(error.next === undefined ? {} : { next: error.next }),
    };
  }
  if (error instanceof StoreOpenError) return cannotOpen(error);
  if (error instanceof StatusError && error.reason === "ServiceUnavailable")
    return unreachable(error.message);
  if (error instanceof StatusError) return { message: error.message, exitCode: EXIT.negative };
  if (!(error instanceof Error)) return { message: String(error), exitCode: EXIT.internal };
  const { code, hint } = error as Error & { code?: unknown; hint?: unknown };
  if (typeof code === "string" && UNREACHABLE.has(code)) return unreachable(error.message);
  if (typeof hint === "string") return { message: error.message, next: hint, exitCode: EXIT.usage };
  return { message: error.stack ?? error.message, exitCode: EXIT.internal };
}

/** Writes `error: ...` and `next: ...` to stderr; the answer is the exit code. */
export function reportError(error: unknown): number {
  const told = tell(error);
  process.stderr.write(`error: ${told.message}\n`);
  if (told.next !== undefined) process.stderr.write(`next: ${told.next}\n`);
  return told.exitCode;
}
