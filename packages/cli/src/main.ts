import { Command } from "commander";
import { completionCommand } from "./commands/completion.ts";
import { controllerCommand } from "./commands/controller.ts";
import { demoCommand } from "./commands/demo.ts";
import { doctorCommand } from "./commands/doctor.ts";
import { driverCommand } from "./commands/driver.ts";
import { groupCommand } from "./commands/group.ts";
import { nodeCommand } from "./commands/node.ts";
import { stateCommand } from "./commands/state.ts";
import { ticketCommand } from "./commands/ticket.ts";
import { upCommand } from "./commands/up.ts";
import { volumeCommand } from "./commands/volume.ts";
import { whyCommand } from "./commands/why.ts";
import { EXIT } from "./output/exit-codes.ts";
import { reportError } from "./output/report-error.ts";

/** Also for the commands of a command: their wrong arguments end with the same code. */
function inherit(parent: Command, command: Command, path: string): void {
  command.copyInheritedSettings(parent).showHelpAfterError(`(see ${path} --help)`);
  for (const child of command.commands) inherit(command, child, `${path} ${child.name()}`);
}

/** A reader that has seen enough (`| head`) ends nothing, and what is under way least of all. */
function outliveReaders(): void {
  for (const stream of [process.stdout, process.stderr]) {
    stream.on("error", (error: NodeJS.ErrnoException) => {
      if (error.code !== "EPIPE" && stream.listenerCount("error") === 1) throw error;
    });
  }
}

function program(): Command {
  const root = new Command("mooring")
    .description("Container storage from one process")
    .version(process.env.MOORING_VERSION ?? "development")
    .showHelpAfterError("(see mooring --help)")
    .exitOverride((error) => process.exit(error.exitCode === 0 ? EXIT.ok : EXIT.usage));
  const commands = [
    ...[upCommand, nodeCommand, controllerCommand, driverCommand, demoCommand, whyCommand, doctorCommand],
    ...[volumeCommand, ticketCommand, groupCommand, stateCommand, completionCommand],
  ];
  for (const command of commands.map((make) => make())) {
    inherit(root, command, `mooring ${command.name()}`);
    root.addCommand(command);
  }
  return root;
}

outliveReaders();
try {
  await program().parseAsync();
} catch (error) {
  process.exitCode = reportError(error);
}
