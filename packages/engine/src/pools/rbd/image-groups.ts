import { EngineError } from "../../errors.ts";
import { ENOENT, type RbdCommands } from "./commands.ts";
import { listOf, objectOf, parse } from "./json.ts";

/**
 * Throws FAILED_PRECONDITION when the image is in an RBD group, or a snapshot of one needs it: whoever made the group counts on the
 * image, and Ceph would keep it in its trash for ever, where nobody looks for it.
 */
export async function requireUngrouped(commands: RbdCommands, image: string): Promise<void> {
  const kept = await groupSnapshotOf(commands, image);
  if (kept !== undefined)
    throw neededBy(image, `the snapshot ${kept} of an RBD group`, `rbd group snap rm ${kept}`);
  const { stdout } = await commands.rbd(["group", "ls", "--format", "json"]);
  // Mooring makes none, so that mostly there are none.
  for (const group of listOf(parse(stdout)).map(String))
    if ((await membersOf(commands, group)).includes(image))
      throw neededBy(image, `the RBD group ${group}`, `rbd group image rm ${group} ${image}`);
}

/** `GROUP@SNAPSHOT`: it outlives the image's time in the group. */
async function groupSnapshotOf(commands: RbdCommands, image: string): Promise<string | undefined> {
  const list = ["snap", "ls", "--all", "--format", "json", image];
  const { exitCode, stdout } = await commands.rbd(list, { allow: [ENOENT] });
  if (exitCode !== 0) return undefined;
  const spaces = listOf(parse(stdout)).map((snapshot) => objectOf(objectOf(snapshot)["namespace"]));
  const found = spaces.find(({ type }) => type === "group");
  return found && `${found["group"]}@${found["group snap"]}`;
}

async function membersOf(commands: RbdCommands, group: string): Promise<string[]> {
  const list = ["group", "image", "list", "--group", group, "--format", "json"];
  const { exitCode, stdout } = await commands.rbd(list, { allow: [ENOENT] });
  return exitCode === 0 ? listOf(parse(stdout)).map((member) => String(objectOf(member)["image"])) : [];
}

/** One that no list of this pool and namespace has. */
export function inOtherGroup(image: string): EngineError {
  const what = "an RBD group of another pool or namespace";
  return neededBy(image, what, `rbd group image rm GROUP ${image}`);
}

function neededBy(image: string, what: string, command: string): EngineError {
  const message = `image ${image} is needed by ${what}, which is not Mooring's`;
  return new EngineError("FAILED_PRECONDITION", message, { hint: `take it out first: ${command}` });
}
