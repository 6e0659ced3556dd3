import { type Command, Option } from "commander";
import { stringify } from "yaml";

/** How a command prints what it has found; without any, for a terminal. */
export interface Output {
  /** The same as `output: "json"`. */
  json?: boolean;
  output?: "json" | "yaml" | "wide";
}

interface OutputHelp {
  /** What is printed as data, such as `the tree`. */
  what: string;
  /** The command has a table with more columns. */
  wide?: boolean;
}

/** Adds `-o json|yaml`, `-o wide` where there is such a table, and `--json`, which is short for `-o json`. */
export function withOutput(command: Command, { what, wide = false }: OutputHelp): Command {
  const columns = wide ? ", or with more columns" : "";
  return command
    .addOption(
      new Option("-o, --output <format>", `print ${what} as JSON or YAML${columns}`)
        .choices(["json", "yaml", ...(wide ? ["wide"] : [])])
        .conflicts("json"),
    )
    .option("--json", `print ${what} as JSON`);
}

/** Prints a value as it was asked for; `text` makes what users read, with more columns when `wide`. */
export function print({ json, output }: Output, value: unknown, text: (wide: boolean) => string): void {
  process.stdout.write(printed(json === true ? "json" : output, value, text));
}

function printed(format: Output["output"], value: unknown, text: (wide: boolean) => string): string {
  if (format === "json") return `${JSON.stringify(value, null, 2)}\n`;
  // Aliases would say that two places are one; undefined fields are none, as in JSON.
  if (format === "yaml")
    return stringify(JSON.parse(JSON.stringify(value)), { aliasDuplicateObjects: false });
  return text(format === "wide");
}
