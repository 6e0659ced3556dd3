import { isAlreadyExists } from "@mooring/store";
import { type Command, Option } from "commander";
import type { ClientOptions } from "../../client/client.ts";
import { collectPair } from "../../group/restore.ts";
import { timeoutOption } from "../../options/duration.ts";
import { CommandError } from "../../output/command-error.ts";
import { EXIT } from "../../output/exit-codes.ts";
import { type Output, print, withOutput } from "../../output/print.ts";

/** Options of every command. */
export interface Shared extends ClientOptions, Output {
  /** Default: that of the kubeconfig's context. */
  namespace?: string;
}

/** Options of a command that waits. */
export interface Waiting extends Shared {
  wait: boolean;
  /** Milliseconds. */
  timeout: number;
}

/** Adds the options of {@link Shared}. */
export const shared = (command: Command, { wide = false } = {}): Command =>
  withOutput(
    command
      .option("-n, --namespace <name>", "namespace of the objects (default: the kubeconfig's)")
      .option("--kubeconfig <file>", "how to reach the API server"),
    { what: "the result", wide },
  );

/** Adds `--timeout`, too. */
export const patient = (command: Command): Command => shared(command).addOption(timeoutOption("5m"));

/** Adds the options of {@link Waiting}. */
export const waiting = (command: Command): Command =>
  patient(command).option("--no-wait", "return when the wish is stored");

/** `CLAIM=VALUE`, as often as there are claims. */
export const pairsOption = (flags: string, text: string, example: string): Option =>
  new Option(flags, `${text}; repeatable`)
    .argParser((pair: string, before: Record<string, string>) => collectPair(pair, before, example))
    .default({}, "none");

/** Rethrows; what an operator does about a name that is taken depends on what has it. */
export const takenName =
  (command: string) =>
  (error: unknown): never => {
    if (!isAlreadyExists(error)) throw error;
    throw new CommandError((error as Error).message, {
      next: `choose another name, or take that one away: ${command}`,
      exitCode: EXIT.negative,
    });
  };

/** Prints what a command has made: as it is when the wait for it has ended, where one is wanted. */
export async function printMade<T>(
  options: Waiting,
  made: T,
  until: (seconds: number) => Promise<T | undefined>,
  render: (made: T) => string,
): Promise<void> {
  const shown = (options.wait ? await until(options.timeout / 1000) : undefined) ?? made;
  print(options, shown, () => render(shown));
}
