import { CommandError } from "../output/command-error.ts";
import { EXIT } from "../output/exit-codes.ts";

/** Why an address that an option names cannot be listened on, and what to do about it. */
export function listenFailure(option: string, address: string, error: unknown): CommandError {
  const { code, message } = error as NodeJS.ErrnoException;
  if (code === "EADDRINUSE") {
    return new CommandError(`another process listens on ${address}`, {
      next: `stop it, or choose another address for ${option}`,
      exitCode: EXIT.busy,
      cause: error,
    });
  }
  return new CommandError(`${option} ${address} cannot be had: ${message}`, {
    next: "use an address of this machine, for example 127.0.0.1:9810",
    cause: error,
  });
}
