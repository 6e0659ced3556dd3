import { Command } from "commander";
import { type Output, print, withOutput } from "../output/print.ts";
import { VERSION } from "../process/version.ts";

/** `mooring version`: of Mooring, of Node.js and of the machine, for a report. */
export function versionCommand(): Command {
  const command = new Command("version").description(
    "print the version of Mooring, of Node.js and of the machine",
  );
  return withOutput(command, { what: "it" }).action((options: Output) => {
    const version = {
      mooring: VERSION,
      node: process.version,
      platform: process.platform,
      arch: process.arch,
    };
    const lines = Object.entries(version).map(([name, value]) => `${name.padEnd(10)}${value}\n`);
    print(options, version, () => lines.join(""));
  });
}
