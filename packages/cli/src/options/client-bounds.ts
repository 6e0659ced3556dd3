import { CLIENT_BOUNDS, type ClientBounds } from "@mooring/standalone";
import { type Command, InvalidArgumentError, Option } from "commander";
import { CommandError } from "../output/command-error.ts";

/** What clients of the API server may have open at once. */
export interface ClientBoundsOptions {
  maxWatches: number;
  maxWatchesPerUser: number;
  maxConnections: number;
  maxConnectionsPerUser: number;
}

const { lasting, connections } = CLIENT_BOUNDS;
const OPTIONS: readonly (readonly [flag: string, what: string, preset: number])[] = [
  [
    "max-watches",
    "watches, followed logs and streams of all users but administrators and nodes",
    lasting.all,
  ],
  ["max-watches-per-user", "the same of one user", lasting.ofOne],
  ["max-connections", "connections of all users but administrators and nodes", connections.all],
  ["max-connections-per-user", "connections of one user", connections.ofOne],
];

/** Far more than a process may have descriptors. */
const MOST = 1_000_000;

function count(text: string): number {
  const number = Number(text);
  if (/^\d{1,7}$/.test(text) && number >= 1 && number <= MOST) return number;
  throw new InvalidArgumentError(`a whole number from 1 to ${MOST}`);
}

/** `--max-watches` and the like. */
export function withClientBounds(command: Command): Command {
  for (const [flag, what, preset] of OPTIONS)
    command.addOption(
      new Option(`--${flag} <number>`, `${what}, at once`).argParser(count).default(preset, `${preset}`),
    );
  return command;
}

/** Throws a {@link CommandError} where one user might have more than all. */
export function clientBounds(options: ClientBoundsOptions): ClientBounds {
  const { maxWatches, maxWatchesPerUser, maxConnections, maxConnectionsPerUser } = options;
  const check = (name: string, ofOne: number, all: number) => {
    if (ofOne <= all) return { ofOne, all };
    throw new CommandError(`--max-${name}-per-user is more than --max-${name}`, {
      next: `use --max-${name}-per-user ${all} at most, or a larger --max-${name}`,
    });
  };
  return {
    lasting: check("watches", maxWatchesPerUser, maxWatches),
    connections: check("connections", maxConnectionsPerUser, maxConnections),
  };
}
