import { CommandError } from "./command-error.ts";

/** What a command prints cannot be written to where its output goes, a file on a full disk say. */
export function unprintable(cause: Error): CommandError {
  return new CommandError(`the output cannot be written: ${cause.message}`, {
    next: "make room where the output goes, or send it somewhere else",
    cause,
  });
}
