import type { Command } from "commander";

/** A place in the command line where something can follow: `mooring volume attach`. */
export interface Place {
  path: string;
  commands: { name: string; description: string }[];
  options: { flags: string[]; description: string; takesValue: boolean; choices: string[] }[];
}

/** Every command of a program, with what can follow it. */
export function placesOf(command: Command, before = ""): Place[] {
  const path = `${before}${command.name()}`;
  const help = { flags: ["-h", "--help"], description: "show help", takesValue: false, choices: [] };
  const options = command.options
    .filter(({ hidden }) => !hidden)
    .map(({ short, long, description, required, optional, argChoices }) => ({
      flags: [short, long].filter((flag) => flag !== undefined),
      description,
      takesValue: required || optional,
      choices: argChoices ?? [],
    }));
  const commands = command.commands.map((child) => ({
    name: child.name(),
    description: child.description(),
  }));
  const here: Place = { path, commands, options: [...options, help] };
  return [here, ...command.commands.flatMap((child) => placesOf(child, `${path} `))];
}

/** What can be typed there. */
export function wordsOf({ commands, options }: Place): string[] {
  return [...commands.map(({ name }) => name), ...options.flatMap(({ flags }) => flags)];
}
