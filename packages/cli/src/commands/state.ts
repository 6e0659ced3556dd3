import { Command } from "commander";
import { backupState } from "../state/backup.ts";
import { checkState } from "../state/check.ts";
import { restoreState } from "../state/restore.ts";

const STATE_DIR = "/var/lib/mooring";

function stateDirOption(command: Command): Command {
  return command.option(
    "--state-dir <folder>",
    "state folder of `mooring up` or `mooring driver`",
    STATE_DIR,
  );
}

/** `mooring state`: the store of a state folder, which is everything that Mooring knows. */
export function stateCommand(): Command {
  const command = new Command("state").description("check, copy and put back what Mooring knows");
  stateDirOption(command.command("check [file]"))
    .description("read the store, or a copy of it, from end to end; also while Mooring runs")
    .option("--json", "print what is there as JSON")
    .action(checkState);
  stateDirOption(command.command("backup [file]"))
    .description("copy the store, also while Mooring runs, and check the copy")
    .option("--json", "print the copy as JSON")
    .action(backupState);
  stateDirOption(command.command("restore [file]"))
    .description("put a copy in the place of the store; by default the newest that is whole")
    .option("--json", "print what was put back as JSON")
    .action(restoreState);
  return command;
}
