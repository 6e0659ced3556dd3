import { Command } from "commander";
import { addCommonCommands } from "./both.ts";
import { addMemberCommands } from "./members.ts";
import { addSnapshotCommands } from "./snapshots.ts";

/** `mooring group ...`: several claims as one thing. */
export function groupCommand(): Command {
  const group = new Command("group").description("several claims as one thing: groups, snapshots, restores");
  addCommonCommands(group);
  addMemberCommands(group);
  addSnapshotCommands(group);
  return group;
}
