import { Command } from "commander";

/** What `mooring --version` prints: the version of the package, or `development` in sources that were not bundled. */
export const VERSION = process.env.MOORING_VERSION ?? "development";

/** `mooring version`: of Mooring, of Node.js and of the machine, for a report. */
export function versionCommand(): Command {
  return new Command("version")
    .description("print the version of Mooring, of Node.js and of the machine")
    .option("--json", "print it as JSON")
    .action(({ json }: { json?: boolean }) => {
      const version = {
        mooring: VERSION,
        node: process.version,
        platform: process.platform,
        arch: process.arch,
      };
      const lines = Object.entries(version).map(([name, value]) => `${name.padEnd(10)}${value}\n`);
      process.stdout.write(json === true ? `${JSON.stringify(version, null, 2)}\n` : lines.join(""));
    });
}
