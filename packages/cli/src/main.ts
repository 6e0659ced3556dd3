import { Command } from "commander";
import { completionCommand } from "./commands/completion.ts";
import { controllerCommand } from "./commands/controller.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { driverCommand } from "./commands/driver.ts";
import { groupCommand } from "./commands/group.ts";
import { nodeCommand } from "./commands/node.ts";
import { ticketCommand } from "./commands/ticket.ts";
import { upCommand } from "./commands/up.ts";
import { volumeCommand } from "./commands/volume.ts";
import { whyCommand } from "./commands/why.ts";
import { EXIT } from "./output/exit-codes.ts";
import { reportError } from "./output/report-error.ts";

/** Also for the commands of a command: their wrong arguments end with the same code. */
function inherit(parent: Command, command: Command): void {
  command.copyInheritedSettings(parent);
  for (const child of command.commands) inherit(command, child);
}

function program(): Command {
  const root = new Command("mooring")
    .description("Container storage from one process")
    .version(process.env.MOORING_VERSION ?? "development")
    .showHelpAfterError()
    .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage));
  const commands = [
    ...[upCommand, nodeCommand, controllerCommand, driverCommand, demoCommand, whyCommand, doctorCommand],
    ...[volumeCommand, ticketCommand, groupCommand, completionCommand],
  ];
  for (const command of commands.map((make) => make())) {
    inherit(root, command);
    root.addCommand(command);
  }
  return root;
}

try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
}
