import { Argument, Command } from "commander";
import { placesOf } from "../completion/places.ts";
import { COMPLETION_SCRIPTS } from "../completion/scripts.ts";

type Shell = keyof typeof COMPLETION_SCRIPTS;

/** `mooring completion bash|zsh|fish`: prints what the shell has to read. Needs no server. */
export function completionCommand(): Command {
  const shells = Object.keys(COMPLETION_SCRIPTS);
  return new Command("completion")
    .description("print what makes a shell complete mooring's commands and options")
    .addArgument(new Argument("<shell>", "the shell that reads it").choices(shells))
    .addHelpText("after", '\nIn bash: eval "$(mooring completion bash)"')
    .action((shell: Shell, _options: unknown, command: Command) => {
      process.stdout.write(COMPLETION_SCRIPTS[shell](placesOf(command.parent ?? command)));
    });
}
