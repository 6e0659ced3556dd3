import { readFile } from "node:fs/promises";
import { type Command, InvalidArgumentError, type Option } from "commander";
import { parseDocument } from "yaml";
import { CommandError } from "../output/command-error.ts";

/**
 * Gives a command `--config FILE`: a YAML mapping of its other options by their long names, `pool-size: 20Gi`; one that may
 * be repeated has a list. What the command line says wins. An option that there is not is refused, and so is a value that the
 * command line would refuse.
 */
export function withConfigFile(command: Command): Command {
  return command
    .option(
      "--config <file>",
      "YAML file of the options here by their long names; those on the command line win",
    )
    .hook("preAction", async (_, invoked) => {
      const { config } = invoked.opts<{ config?: string }>();
      if (config !== undefined) applySettings(invoked, config, await readSettings(config));
    });
}

async function readSettings(file: string): Promise<Record<string, unknown>> {
  const text = await readFile(file, "utf8").catch((cause: Error) => {
    throw new CommandError(`--config ${file} cannot be read: ${cause.message}`, { cause });
  });
  const document = parseDocument(text);
  const [error] = document.errors;
  if (error !== undefined) throw new CommandError(`${file} is not YAML: ${error.message}`);
  const settings: unknown = document.toJS() ?? {};
  if (typeof settings === "object" && !Array.isArray(settings)) return settings as Record<string, unknown>;
  throw new CommandError(`${file} is not a mapping of options`, {
    next: "write each line like pool-size: 20Gi",
  });
}

function applySettings(command: Command, file: string, settings: Record<string, unknown>): void {
  const options = new Map(command.options.map((option) => [option.long?.replace(/^--/, ""), option]));
  options.delete("config");
  for (const [name, value] of Object.entries(settings)) {
    const option = options.get(name);
    if (option === undefined) {
      const names = [...options.keys()].sort().join(", ");
      throw new CommandError(`${file}: ${name} is no option of mooring ${command.name()}`, {
        next: `use ${names}`,
      });
    }
    if (command.getOptionValueSource(option.attributeName()) === "cli") continue;
    command.setOptionValueWithSource(
      option.attributeName(),
      parsed(option, value, `${file}: ${name}`),
      "config",
    );
  }
}

/** What the command line would make of the value, or of all of a list one after the other. */
function parsed(option: Option, value: unknown, where: string): unknown {
  const values = Array.isArray(value) ? value : [value];
  if (Array.isArray(value) && !Array.isArray(option.defaultValue))
    throw new CommandError(`${where} has one value, not a list`);
  let result: unknown = option.defaultValue;
  for (const each of values) {
    if (typeof each !== "string" && typeof each !== "number")
      throw new CommandError(`${where}: ${JSON.stringify(each)} is neither a text nor a number`);
    result = parsedOne(option, { value: String(each), before: result }, where);
  }
  return result;
}

function parsedOne(
  option: Option,
  { value, before }: { value: string; before: unknown },
  where: string,
): unknown {
  if (option.parseArg === undefined) return value;
  try {
    return option.parseArg(value, before);
  } catch (error) {
    if (error instanceof InvalidArgumentError)
      throw new CommandError(`${where}: ${value} is invalid. ${error.message}`, { cause: error });
    throw error;
  }
}
