import { Command } from "commander";
import { withOutput } from "../output/print.ts";
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

/** `mooring state`: the store of a state folder, which is everything that Mooring stores. */
export function stateCommand(): Command {
  const command = new Command("state").description("check, copy and put back what Mooring stores");
  withOutput(stateDirOption(command.command("check [file]")), { what: "what is there" })
    .description("read the store, or a copy of it, from end to end; also while Mooring runs")
    .action(checkState);
  withOutput(stateDirOption(command.command("backup [file]")), { what: "the copy" })
    .description("copy the store, also while Mooring runs, and check the copy")
    .action(backupState);
  withOutput(stateDirOption(command.command("restore [file]")), { what: "what was put back" })
    .description("put a copy in the place of the store; by default the newest that is whole")
    .action(restoreState);
  return command;
}
